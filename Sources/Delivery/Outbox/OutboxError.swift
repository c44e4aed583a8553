/// Why the outbox could not do what was asked. Descriptions hold no content of deliveries.
package struct OutboxError: Error, Equatable, CustomStringConvertible {
    private enum Code: Equatable {
        case notDurable(Int)
        case tooManyQueues
    }

    private let code: Code

    package var description: String {
        switch code {
        case .notDurable(let level):
            "the outbox database runs with PRAGMA synchronous = \(level); expected 2 (FULL) or 3 (EXTRA): nothing else may change it"
        case .tooManyQueues:
            "more than \(OutboxKey.largestQueue) pairs of platform and app; check what names registrations bring in"
        }
    }

    static func notDurable(synchronous level: Int) -> OutboxError { OutboxError(code: .notDurable(level)) }
    static let tooManyQueues = OutboxError(code: .tooManyQueues)
}
