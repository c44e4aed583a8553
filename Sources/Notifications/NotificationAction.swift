/// A button of a notification (seed 002).
package struct NotificationAction: Sendable, Hashable {
    /// What the app learns when the button is tapped, in reverse domain notation.
    package var id: String
    /// The text on the button, already in the reader's language.
    package var label: String
    /// What opens; empty: the notification's own `url`.
    package var url: String
    /// An SF Symbol name; empty: none.
    package var icon: String

    package init(id: String, label: String, url: String = "", icon: String = "") {
        self.id = id
        self.label = label
        self.url = url
        self.icon = icon
    }
}
