import Foundation
import Testing

/// `Vectors/rfc8292-example.json`.
struct RFC8292Example: Decodable {
    let request_url: String
    let authorization: String
    let jwt_claims: String

    static func read() throws -> RFC8292Example {
        let url = try #require(Bundle.module.resourceURL).appendingPathComponent("Vectors/rfc8292-example.json")
        return try JSONDecoder().decode(RFC8292Example.self, from: Data(contentsOf: url))
    }
}
