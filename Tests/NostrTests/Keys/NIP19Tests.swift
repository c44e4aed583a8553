import Cipher
import Nostr
import Schnorr
import Testing

@Suite struct NIP19Tests {
    /// NIP-19's own examples.
    static let publicKeys = [
        (
            "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d",
            "npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6"
        ),
        (
            "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e",
            "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"
        ),
    ]
    static let secretKey = (
        "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa",
        "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
    )

    @Test(arguments: publicKeys)
    func writesAndReadsPublicKeys(hex: String, npub: String) throws {
        let key = try #require(PublicKey(hex: hex))
        #expect(NIP19.npub(key) == npub)
        #expect(NIP19.publicKey(npub: npub) == key)
        #expect(NIP19.publicKey(npub: npub.uppercased()) == key)
    }

    @Test func writesAndReadsSecretKeys() throws {
        let bytes = try #require(Hex.decode(Self.secretKey.0))
        #expect(NIP19.secretKey(nsec: Self.secretKey.1)?.reveal() == bytes)
        #expect(NIP19.nsec(try SecretKey(bytes: bytes)) == Self.secretKey.1)
    }

    @Test func readsWhatItWritesOfNotes() throws {
        let id = try #require(EventID(bytes: SecureRandom.bytes(32)))
        let note = NIP19.note(id)
        #expect(note.hasPrefix("note1"))
        #expect(NIP19.eventID(note: note) == id)
    }

    @Test func refusesOtherPrefixes() throws {
        let npub = Self.publicKeys[0].1
        #expect(NIP19.secretKey(nsec: npub) == nil)
        #expect(NIP19.eventID(note: npub) == nil)
        #expect(NIP19.publicKey(npub: Self.secretKey.1) == nil)
    }

    @Test func findsEveryTypingMistake() throws {
        let npub = Self.publicKeys[0].1
        for index in npub.indices.dropFirst(5) {
            let other = npub[index] == "q" ? "p" : "q"
            let mistyped = npub.replacingCharacters(in: index...index, with: other)
            #expect(NIP19.publicKey(npub: mistyped) == nil)
        }
        #expect(NIP19.publicKey(npub: String(npub.dropLast())) == nil)
        #expect(NIP19.publicKey(npub: "N" + npub.dropFirst()) == nil)
    }
}

extension String {
    fileprivate func replacingCharacters(in range: ClosedRange<Index>, with text: String) -> String {
        var copy = self
        copy.replaceSubrange(range, with: text)
        return copy
    }
}
