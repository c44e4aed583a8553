import Core

/// The requests without a response. Each is completed exactly once.
struct OpenRequests: Sendable {
    typealias Completion = @Sendable (Result<NATSMessage, NATSError>) -> Void

    private struct Request {
        let deadline: Deadline
        let completion: Completion
    }

    private var last: UInt64 = 0
    private var open: [UInt64: Request] = [:]

    /// Adds a request and returns its number.
    mutating func add(deadline: Deadline, _ completion: @escaping Completion) -> UInt64 {
        last += 1
        open[last] = Request(deadline: deadline, completion: completion)
        return last
    }

    /// Removes and returns a request's completion; nil: it was completed, or timed out.
    mutating func take(_ number: UInt64) -> Completion? { open.removeValue(forKey: number)?.completion }

    mutating func takeAll() -> [Completion] {
        defer { open = [:] }
        return open.sorted { $0.key < $1.key }.map(\.value.completion)
    }

    /// Removes and returns the completions of requests whose deadline has passed.
    mutating func takeLate(now: Deadline) -> [Completion] {
        let late = open.filter { $0.value.deadline <= now }
        for number in late.keys { open[number] = nil }
        return late.sorted { $0.key < $1.key }.map(\.value.completion)
    }

    var nextDeadline: Deadline? { open.values.lazy.map(\.deadline).min() }
}
