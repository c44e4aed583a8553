import Foundation
import Nostr
import Rules

/// What rules are tried on: an event of the person's own, or a fixture.
package struct TrialSubject: Sendable {
    /// The file's or the fixture's name.
    package let name: String
    let event: Event
    let count: UInt32
    let recipient: PublicKey?
    let authorName: String?
    let referenced: ReferencedEvent?

    package init(_ fixture: Fixture) {
        name = fixture.name
        event = fixture.event
        count = fixture.count
        recipient = fixture.recipient
        authorName = fixture.authorName
        referenced = fixture.referenced
    }

    /// An event that nothing more is known about.
    init(_ event: Event, for recipient: PublicKey) {
        name = event.id.hex
        self.event = event
        count = 1
        self.recipient = recipient
        authorName = nil
        referenced = nil
    }

    /// An event as JSON, whose id, sig, pubkey, created_at, tags and content may be missing.
    ///
    /// Throws ``TrialFailure`` for what is none.
    package init(event json: [UInt8], name: String) throws {
        self.name = name
        event = try UnsignedEventReader.read(json)
        count = 1
        let named = event.mentionedKeys
        recipient = named.count == 1 ? named.first : nil
        authorName = nil
        referenced = nil
    }
}

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
