import Foundation
import Testing

/// The files in `Vectors`.
enum Vectors {
    static func text(_ name: String) throws -> String {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/\(name)")
        return try String(contentsOf: url, encoding: .utf8)
    }
}
