/// What a filter made of an event.
package enum FilterVerdict: Sendable, Hashable {
    case pass
    /// It may go out so; only after rendering.
    case edited(Notification)
    /// `reason`: at most 60 printable ASCII bytes, never content; empty: it gave none.
    case drop(reason: String)
    /// It could not decide; `reason` is for the log, and never content.
    case failed(reason: String)
}
