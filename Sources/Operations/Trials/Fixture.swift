import Nostr
import Rules
import Schnorr

/// Something to try rules on, with all that their texts may speak of.
package struct Fixture: Sendable {
    /// What it is called on the command line.
    package let name: String
    /// What happens in it, in a few words.
    package let about: String
    /// The event, signed by a key that everybody knows.
    package let event: Event
    /// How many such events go out as one; more than one is a batch.
    package let count: UInt32
    package let recipient: PublicKey
    /// What the profile of whoever does it says; nil where nobody may know.
    package let authorName: String?
    /// The recipient's own note that the event is about.
    package let referenced: ReferencedEvent?
}

extension Fixture {
    /// All there are, always the same: one for each kind of event that Carillon knows, and some for what rules often
    /// look at.
    ///
    /// Throws only when libsecp256k1 fails.
    package static func all() throws -> [Fixture] {
        try FixtureScript().fixtures()
    }

    /// The event as JSON text, indented, as a start for one's own.
    package var json: String {
        IndentedJSON.text(event.json) ?? event.jsonString
    }
}

/// Who appears in fixtures. Everybody knows the keys, so that events can be signed anew after a change; they are good
/// for nothing else.
struct FixtureCast {
    static let authorName = "Alice"

    /// Does what the fixtures tell of.
    let author: KeyPair
    /// Is told of it.
    let recipient: KeyPair
    /// Signs zap receipts.
    let wallet: KeyPair
    /// Signs one gift wrap (NIP-59), or speaks for an app (NIP-46, NIP-47).
    let oneTime: KeyPair

    init() throws {
        author = try Self.keys(1)
        recipient = try Self.keys(2)
        wallet = try Self.keys(3)
        oneTime = try Self.keys(4)
    }

    private static func keys(_ number: UInt8) throws -> KeyPair {
        try KeyPair(secret: SecretKey(bytes: [UInt8](repeating: 0, count: SecretKey.byteCount - 1) + [number]))
    }
}
