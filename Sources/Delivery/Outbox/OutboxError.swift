/// Why the outbox could not do what was asked. Descriptions hold no content of deliveries.
package struct OutboxError: Error, Equatable, CustomStringConvertible {
    private enum Code: Equatable {
        case notDurable(Int)
        case cannotCreateFile(Int32)
        case sqlite(Int32, String)
        case tooManyQueues
    }

    private let code: Code

    package var description: String {
        switch code {
        case .notDurable(let level):
            "the outbox database runs with PRAGMA synchronous = \(level); expected 2 (FULL) or 3 (EXTRA): nothing else may change it"
        case .cannotCreateFile(let number):
            "cannot open or create the outbox file (errno \(number)); check that its folder exists and is writable"
        case .sqlite(let result, let message):
            "SQLite refused a statement on the outbox (result \(result)): \(message)"
        case .tooManyQueues:
            "more than \(OutboxKey.largestQueue) pairs of platform and app; check what names registrations bring in"
        }
    }

    static func notDurable(synchronous level: Int) -> OutboxError { OutboxError(code: .notDurable(level)) }
    static func cannotCreateFile(errno number: Int32) -> OutboxError { OutboxError(code: .cannotCreateFile(number)) }
    static func sqlite(result: Int32, message: String) -> OutboxError { OutboxError(code: .sqlite(result, message)) }
    static let tooManyQueues = OutboxError(code: .tooManyQueues)
}
