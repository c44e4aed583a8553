/// How a push waits for a device's time: a rule's `pace`, or else what its platform says about the kind of push.
package enum PushPace: String, Sendable, Hashable, CaseIterable {
    /// It goes at once and counts for nothing.
    case immediate
    /// While it waits, a later one of the same `key` takes its place.
    case latest
    /// Those that wait together become one push that says how many they are.
    case batch
}
