/// What a push is to whoever gets it. Pacing may delay a push or replace it by a later one, but never changes this.
package enum PushNature: Int32, Sendable, Hashable, CaseIterable {
    /// It shows a text. Several that wait may become one that says how many they are.
    case alert = 0
    /// It wakes the app and nobody sees it: a background push, a data message without a text.
    case silent = 1
    /// The device or the app acts on it in another way: a call, a Live Activity, a widget, a badge without a text.
    case special = 2
}
