import Console
import Foundation

/// Why something that an operator asked for could not be done.
package struct OperationFailure: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// What was asked for cannot be understood.
        case invalid
        /// There is nothing of that name or number.
        case unknown
        /// It cannot be done at this moment, or by these means.
        case unavailable
        /// The command cannot reach a running router, or the router refuses its token.
        case unreachable
    }

    package let kind: Kind
    /// What is wrong and what was expected; no secrets.
    package let description: String
    /// The same for programs; nil: only the words say it.
    private(set) var says: Statement?

    init(kind: Kind, description: String, says: Statement? = nil) {
        self.kind = kind
        self.description = description
        self.says = says
    }

    static func invalid(_ description: String) -> OperationFailure {
        OperationFailure(kind: .invalid, description: description)
    }

    static func unknown(_ description: String) -> OperationFailure {
        OperationFailure(kind: .unknown, description: description)
    }

    /// What `body` returns. What it throws is why it cannot be done now.
    static func attempt<Value>(_ body: () throws -> Value) throws(OperationFailure) -> Value {
        do {
            return try body()
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package static func unavailable(_ description: String) -> OperationFailure {
        OperationFailure(kind: .unavailable, description: description)
    }

    static func unreachable(_ description: String) -> OperationFailure {
        OperationFailure(kind: .unreachable, description: description)
    }

    static func invalid(_ sentence: Sentence) -> OperationFailure {
        OperationFailure(kind: .invalid, description: sentence.words, says: sentence.says)
    }

    package static func unknown(_ sentence: Sentence) -> OperationFailure {
        OperationFailure(kind: .unknown, description: sentence.words, says: sentence.says)
    }

    package static func unavailable(_ sentence: Sentence) -> OperationFailure {
        OperationFailure(kind: .unavailable, description: sentence.words, says: sentence.says)
    }
}

/// The report to an operator: for people and for machines.
package protocol OperatorAnswer: Codable, Sendable {
    /// Lines for a terminal.
    var text: String { get }
}

extension OperatorAnswer {
    package var text: String { json }

    /// One JSON object on one line.
    package var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        // Nothing in here is a number without a spelling in JSON, which is all that can fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
