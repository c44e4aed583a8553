import Cipher
import Foundation
import Testing

@testable import Nostr

/// The events printed in the NIPs; their ids and signatures were judged by another implementation.
@Suite struct EventVectorTests {
    private struct Example {
        let nip: String
        let json: [UInt8]
        let hasRightID: Bool
        let isSigned: Bool?
    }

    private func examples() throws -> [Example] {
        let url = try #require(Bundle.module.url(forResource: "Vectors/nostr-nip-examples", withExtension: "json"))
        let file = try #require(JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
        return try #require(file["events"] as? [[String: Any]]).map { example in
            let event = try #require(example["event"] as? [String: Any])
            return Example(
                nip: try #require(example["nip"] as? String),
                json: Array(try JSONSerialization.data(withJSONObject: event, options: [.prettyPrinted])),
                hasRightID: try #require(example["id_ok"] as? Bool),
                isSigned: example["sig_ok"] as? Bool
            )
        }
    }

    @Test func idsAndSignaturesOfTheNIPsAreVerified() throws {
        let examples = try examples()
        #expect(examples.count == 7)
        let verifier = EventVerifier()
        for example in examples {
            guard let isSigned = example.isSigned else {
                #expect(throws: EventError.missing(.signature)) { try Event(json: example.json) }
                continue
            }
            let expected: Verification =
                example.hasRightID ? (isSigned ? .valid : .wrongSignature) : .wrongID
            let event = try Event(json: example.json)
            #expect(verifier.verify(event) == expected, "\(example.nip)")
            #expect((event.computedID == event.id) == example.hasRightID)
            let scanned = try example.json.withUnsafeBytes { bytes in
                var scanner = EventScanner()
                return verifier.verify(try scanner.scan(bytes), in: bytes)
            }
            #expect(scanned == expected, "\(example.nip)")
        }
    }

    @Test func contentChangesTheIDAndKeyChangesTheSignature() throws {
        for example in try examples() where example.hasRightID && example.isSigned == true {
            var event = try Event(json: example.json)
            try event.verify()
            event.signature.second.words.3 ^= 1
            #expect(throws: EventError.wrongSignature) { try event.verify() }
            event.content += " "
            #expect(throws: EventError.wrongID) { try event.verify() }
        }
    }
}

@Suite struct EventSigningTests {
    @Test func signedEventIsValid() throws {
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

@Suite struct RetentionTests {
    @Test(
        arguments: [
            (0, .replaceable), (1, .regular), (2, .regular), (3, .replaceable), (4, .regular), (44, .regular),
            (1000, .regular),
            (9999, .regular), (10_000, .replaceable), (10_062, .replaceable), (19_999, .replaceable),
            (20_000, .ephemeral),
            (29_999, .ephemeral), (30_000, .addressable), (39_999, .addressable), (40_000, .regular),
            (65_535, .regular),
        ] as [(UInt16, Retention)]
    )
    func kindsAreClassifiedByRange(_ kind: UInt16, _ retention: Retention) {
        #expect(Kind(kind).retention == retention)
    }

    @Test func newerVersionWinsAndLowerIDBreaksATie() {
        let event = Event.sample(createdAt: 10)
        var other = Event.sample(createdAt: 11)
        #expect(other.supersedes(event))
        #expect(!event.supersedes(other))
        other.createdAt = 10
        other.id = .second
        #expect(event.supersedes(other))
        #expect(!other.supersedes(event))
        #expect(!event.supersedes(event))
    }
}
