/// From when on registrations for our own key must be read.
enum OwnGap: Hashable, Sendable {
    /// From the mark of an earlier process.
    case sinceMark
    /// From that second on.
    case since(Int64)
    case everything
}
