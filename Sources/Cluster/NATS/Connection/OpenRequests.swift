import Core

/// Requests without an answer. Pure. Each is answered once, however it ends.
struct OpenRequests: Sendable {
    typealias Completion = @Sendable (Result<NATSMessage, NATSError>) -> Void

    private struct Request {
        let deadline: Deadline
        let completion: Completion
    }

    private var last: UInt64 = 0
    private var open: [UInt64: Request] = [:]

    /// The number of a new request.
    mutating func add(deadline: Deadline, _ completion: @escaping Completion) -> UInt64 {
        last += 1
        open[last] = Request(deadline: deadline, completion: completion)
        return last
    }

    /// Takes the request out to be answered. Nil: it was answered, or is too late.
    mutating func take(_ number: UInt64) -> Completion? { open.removeValue(forKey: number)?.completion }

    mutating func takeAll() -> [Completion] {
        defer { open = [:] }
        return open.sorted { $0.key < $1.key }.map(\.value.completion)
    }

    /// Those whose deadline has passed.
    mutating func takeLate(now: Deadline) -> [Completion] {
        let late = open.filter { $0.value.deadline <= now }
        for number in late.keys { open[number] = nil }
        return late.sorted { $0.key < $1.key }.map(\.value.completion)
    }

    var nextDeadline: Deadline? { open.values.lazy.map(\.deadline).min() }
}
