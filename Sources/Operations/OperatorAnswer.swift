import Foundation

/// What an operator is told: for people and for machines.
package protocol OperatorAnswer: Codable, Sendable {
    /// Lines for a terminal.
    var text: String { get }
}

extension OperatorAnswer {
    /// One JSON object on one line.
    package var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        // Nothing in here is a number without a spelling in JSON, which is all that can fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
