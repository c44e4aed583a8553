import Foundation
import Nostr

/// Reads an event that a person wrote to try something: id, sig, pubkey, created_at, tags and content may be missing.
enum UnsignedEventReader {
    static func read(_ json: [UInt8]) throws -> Event {
        guard var object = (try? JSONSerialization.jsonObject(with: Data(json))) as? [String: Any] else {
            throw TrialFailure(description: "--event: expected one JSON object")
        }
        let defaults: [String: Any] = [
            "id": String(repeating: "0", count: 64), "sig": String(repeating: "0", count: 128),
            "pubkey": String(repeating: "0", count: 64), "created_at": 0, "tags": [[String]](), "content": "",
        ]
        object.merge(defaults) { given, _ in given }
        let complete = try JSONSerialization.data(withJSONObject: object)
        do {
            return try Event(json: Array(complete))
        } catch {
            throw TrialFailure(description: "--event: \(error)")
        }
    }
}
