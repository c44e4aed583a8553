import ChaosKit
import Foundation

/// Everything that was found, for machines.
struct Findings: Encodable {
    let chaos: Summary
    let isolation: Isolation?

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }
}
