import CarillonABI
import Units

/// The answers that a plugin owes, to commands or to requests from outside: a pure structure that knows no lock, clock
/// or plugin.
///
/// Numbers never repeat. They end one by one or when their time is over; there are few, so nothing is sorted.
struct AwaitedAnswers: Sendable {
    /// How many commands may wait for an answer.
    static let commands = 64
    /// How many requests from outside may.
    static let requests = 8

    /// What an answer came to.
    enum End: Sendable {
        case ended
        /// The host had stopped waiting.
        case late
        /// Never asked for, or answered before.
        case unknown
    }

    private var deadlines: [UInt64: Deadline] = [:]
    /// Expired numbers whose first answer may still come.
    private var expired: Set<UInt64> = []
    private var last: UInt64 = 0
    private let limit: Int

    init(limit: Int) { self.limit = limit }

    var count: Int { deadlines.count }
    var isEmpty: Bool { deadlines.isEmpty }

    /// The number of a new one, or nil when too many are open.
    mutating func open(deadline: Deadline) -> UInt64? {
        guard deadlines.count < limit else { return nil }
        last += 1
        deadlines[last] = deadline
        return last
    }

    mutating func end(_ number: UInt64) -> End {
        if deadlines.removeValue(forKey: number) != nil { return .ended }
        return expired.remove(number) == nil ? .unknown : .late
    }

    /// Stops waiting for what is due.
    mutating func expire(now: Deadline) -> [UInt64] {
        let due = deadlines.filter { $0.value <= now }.keys.sorted()
        for number in due {
            deadlines[number] = nil
            expired.insert(number)
        }
        // A plugin that never answers shall not fill the memory.
        while expired.count > limit, let oldest = expired.min() { expired.remove(oldest) }
        return due
    }
}

/// What came of an operator's command.
enum CommandEnd: Sendable, Hashable {
    case answered(String)
    case failed(String)
    /// The plugin did not take it on.
    case refused(carillon_status)
    case tooMany
    case unanswered
    case draining
}
