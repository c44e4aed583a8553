import Console
import Foundation

/// Why an operator's request failed.
package struct OperationError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Sendable, Hashable {
        /// The request is not understood.
        case invalid
        /// The named object does not exist.
        case unknown
        /// The request cannot be carried out now, or not this way.
        case unavailable
        /// The command cannot reach a running router, or the router refuses its token.
        case unreachable
    }

    package let kind: Kind
    /// The problem and the expected input, without secrets.
    package let description: String
    /// The same as a code and values; nil if there is only `description`.
    private(set) var says: Statement?

    static func invalid(_ description: String) -> OperationError {
        OperationError(kind: .invalid, description: description)
    }

    static func unknown(_ description: String) -> OperationError {
        OperationError(kind: .unknown, description: description)
    }

    /// Returns the result of `body`, and turns its errors into an unavailable failure.
    static func attempt<Value>(_ body: () throws -> Value) throws(OperationError) -> Value {
        do {
            return try body()
        } catch {
            throw .unavailable("\(error)")
        }
    }

    package static func unavailable(_ description: String) -> OperationError {
        OperationError(kind: .unavailable, description: description)
    }

    static func unreachable(_ description: String) -> OperationError {
        OperationError(kind: .unreachable, description: description)
    }

    static func invalid(_ sentence: Sentence) -> OperationError {
        OperationError(kind: .invalid, description: sentence.words, says: sentence.says)
    }

    package static func unknown(_ sentence: Sentence) -> OperationError {
        OperationError(kind: .unknown, description: sentence.words, says: sentence.says)
    }

    package static func unavailable(_ sentence: Sentence) -> OperationError {
        OperationError(kind: .unavailable, description: sentence.words, says: sentence.says)
    }
}

/// A report to an operator, for people and for programs.
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
        // Encoding can fail only for numbers that JSON cannot represent, and no report has any.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
