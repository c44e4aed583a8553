import Foundation
import Testing

/// The files in `Vectors`.
enum Vectors {
    static func bytes(_ name: String) throws -> [UInt8] {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/\(name)")
        return [UInt8](try Data(contentsOf: url))
    }

    static func text(_ name: String) throws -> String {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/\(name)")
        return try String(contentsOf: url, encoding: .utf8)
    }
}
