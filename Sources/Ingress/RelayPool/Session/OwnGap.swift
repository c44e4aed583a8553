/// What must still be read for our own key at a relay: registrations from some moment on, or nothing.
struct OwnGap: Sendable {
    private enum Start: Hashable, Sendable {
        /// From the mark of an earlier process.
        case mark
        /// From that second on.
        case second(Int64)
        case everything
    }

    /// Nil: there is nothing to read.
    private var start: Start?

    var isEmpty: Bool { start == nil }

    /// Begins or stops watching the key. `isNew`: the relay was connected to before, so that its mark says nothing
    /// about this key.
    mutating func watch(_ isWatched: Bool, isNew: Bool) { start = isWatched ? (isNew ? .everything : .mark) : nil }

    /// A connection begins.
    mutating func begin(mark: Int64?) { if start != .everything { start = mark.map { .second($0) } ?? .everything } }

    /// From that second on events may not have come.
    mutating func open(since second: Int64) { if start == nil { start = .second(second) } }

    /// A sweep was given up.
    mutating func abandoned(since second: Int64?) { start = second.map { .second($0) } ?? .everything }

    /// What to read, where anything is.
    func purpose(mark: Int64?) -> Sweep.Purpose? {
        switch start {
        case .second(let second): .own(since: second)
        case .mark: .own(since: mark)
        case .everything: .own(since: nil)
        case nil: nil
        }
    }

    /// A sweep reads it.
    mutating func take() { start = nil }
}
