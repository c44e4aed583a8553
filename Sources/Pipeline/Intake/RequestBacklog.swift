import DequeModule
import Synchronization
import Units

/// What is asked for over the API and waits behind events. Taken a part at a time, so that an event that comes
/// meanwhile waits for one part only, however many people one request is for.
struct RequestBacklog {
    /// Events that are taken at a time, and bytes of them if the first one has not more. An event is the longer the
    /// more people it is for.
    private static let part = 64
    private static let partBytes: ByteCount = .kibibytes(24)

    private var waiting: Deque<Submission> = []
    /// Since when the first of them waits for its turn.
    private var since: Deadline?
    private(set) var bytes = 0

    var events: Int { waiting.count }

    mutating func add(_ submission: Submission, at time: Deadline) {
        if waiting.isEmpty { since = time }
        bytes += submission.size
        waiting += submission.parts
    }

    /// Whether others have gone first for that long.
    func isOverdue(at time: Deadline, _ longest: Duration) -> Bool { since.map { time - $0 >= longest } ?? false }

    /// Takes out a part.
    mutating func take(at time: Deadline) -> [Submission] {
        var (count, size) = (0, 0)
        for submission in waiting.prefix(Self.part) {
            guard count == 0 || size + submission.size <= Self.partBytes.bytes else { break }
            count += 1
            size += submission.size
        }
        defer { waiting.removeFirst(count) }
        bytes -= size
        since = count < waiting.count ? time : nil
        return Array(waiting.prefix(count))
    }

    mutating func takeAll() -> [Submission] {
        defer { self = RequestBacklog() }
        return Array(waiting)
    }
}

extension Submission {
    /// The same as submissions of one event each; whoever waits gets all verdicts together.
    fileprivate var parts: [Submission] {
        guard events.count > 1 else { return [self] }
        let verdicts = GatheredVerdicts(events.count, completion)
        return events.enumerated().map { number, event in
            Submission(events: [event], source: source, isOurs: isOurs) { verdicts.add($0, number) }
        }
    }
}

/// Verdicts of a submission's events, which come one by one.
private final class GatheredVerdicts: Sendable {
    private struct State {
        var verdicts: [EventVerdict?]
        var missing: Int
    }

    private let state: Mutex<State>
    private let completion: @Sendable ([EventVerdict]) -> Void

    init(_ count: Int, _ completion: @escaping @Sendable ([EventVerdict]) -> Void) {
        state = Mutex(State(verdicts: Array(repeating: nil, count: count), missing: count))
        self.completion = completion
    }

    /// `verdicts` of the event of that number: one.
    func add(_ verdicts: [EventVerdict], _ number: Int) {
        let all = state.withLock { state -> [EventVerdict]? in
            if state.verdicts[number] == nil { state.missing -= 1 }
            state.verdicts[number] = verdicts.first
            return state.missing == 0 ? state.verdicts.compactMap(\.self) : nil
        }
        if let all { completion(all) }
    }
}
