import Cipher
import Schnorr
import Testing

@testable import Nostr

@Suite struct EventSigningTests {
    @Test func whatIsSignedIsValid() throws {
        let keys = try KeyPair(random: SecureRandom.bytes)
        let event = try Event.signed(
            kind: .textNote,
            createdAt: 1_700_000_000,
            tags: [["t", "a\u{01}"]],
            content: "\"\n\u{1f}é",
            by: keys
        )
        try event.verify()
        #expect(event.pubkey == keys.publicKey)
        let read = try Event(json: event.json)
        #expect(read == event)
        try read.verify()
    }

    /// The note of NIP-59's rumor, whose key and id are printed there.
    @Test func theIDIsTheOnePrintedInNIP59() throws {
        let secret = try #require(Hex.decode("0beebd062ec8735f4243466049d7747ef5d6594ee838de147f8aab842b15e273"))
        let keys = try KeyPair(secret: SecretKey(bytes: secret))
        let event = try Event.signed(
            kind: .textNote,
            createdAt: 1_691_518_405,
            content: "Are you going to the party tonight?",
            by: keys
        )
        #expect(event.id.hex == "9dd003c6d3b73b74a85a9ab099469ce251653a7af76f523671ab828acd2a0ef9")
        try event.verify()
    }

    @Test func theSameRandomBytesMakeTheSameSignature() throws {
        let keys = try KeyPair(random: SecureRandom.bytes)
        func sign(_ byte: UInt8) throws -> Signature {
            try Event.signed(kind: .textNote, createdAt: 1, by: keys) { Array(repeating: byte, count: $0) }.signature
        }
        #expect(try sign(1) == sign(1))
        #expect(try sign(1) != sign(2))
    }
}
