import Cipher
import Nostr
import Rules
import Testing

@testable import Pipeline

@Suite struct EventContextTests {
    private let keys: KeyPair
    /// One character of Unicode in 100,001 bytes.
    private let tower = "a" + String(repeating: "\u{301}", count: 50_000)

    init() throws {
        keys = try KeyPair(random: SecureRandom.bytes)
    }

    @Test func whatIsRememberedIsBoundedInBytes() throws {
        var context = EventContext()
        let note = try Event.signed(kind: .textNote, createdAt: 1, content: "see " + tower, by: keys)
        context.learn(note, at: 0)
        #expect(context.referenced(note.id).content == "see ")
        let profile = #"{"display_name":"\#(tower)","name":"al\#(tower)"}"#
        context.learn(try Event.signed(kind: .profile, createdAt: 1, content: profile, by: keys), at: 0)
        #expect(context.name(of: keys.publicKey) == "al")
    }
}
