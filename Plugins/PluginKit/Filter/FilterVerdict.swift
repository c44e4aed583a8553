/// What a filter makes of an event.
public enum FilterVerdict: Sendable, Hashable {
    case pass
    /// It wakes nobody. `reason` is for the router's log and trace: at most 60 printable ASCII characters, never content.
    case drop(reason: String)
}
