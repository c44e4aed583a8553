import Cipher
import Schnorr
import Testing

@testable import Nostr

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

    /// The text notes in the tests of rust-nostr and nostr-sdk-ios.
    @Test(arguments: [
        (
            "d94a3f4dd87b9a3b0bed183b32e916fa29c8020107845d1752d72697fe5309a5",
            "note1m99r7nwc0wdrkzldrqan96gklg5usqspq7z9696j6unf0ljnpxjspqfw99"
        ),
        (
            "fa5ed84fc8eeb959fd39ad8e48388cfc33075991ef8e50064cfcecfd918bb91b",
            "note1lf0dsn7ga6u4nlfe4k8yswyvlseswkv3a789qpjvlnk0myvthydshz7qeg"
        ),
    ])
    func writesAndReadsNotes(hex: String, note: String) throws {
        let id = try #require(EventID(hex: hex))
        #expect(NIP19.note(id) == note)
        #expect(NIP19.eventID(note: note) == id)
    }

    /// From the tests of rust-nostr.
    @Test func writesEventsWithTheirAuthor() throws {
        let id = try #require(EventID(hex: "dbe57554549f92c08bea790b05dc37dec6f3373303123f9e231635ee594ceb6a"))
        let author = try #require(PublicKey(hex: "32e1827635450ebb3c5a7d12c1f8e7b2b514439ac10a67eef3d9fd9c5c68e245"))
        #expect(
            NIP19.nevent(id, author: author)
                == "nevent1qqsdhet4232flykq3048jzc9msmaa3hnxuesxy3lnc33vd0wt9xwk6szyqewrqnkx4zsaweutf739s0cu7et29zrntqs5elw70vlm8zudr3y24sqsgy"
        )
    }

    /// NIP-19's own example, and one from the tests of nostr-sdk-ios.
    @Test func writesEntitiesOfSeveralParts() throws {
        let key = try #require(Hex.decode(Self.publicKeys[0].0))
        let profile: [(NIP19.PartType, [UInt8])] = [
            (.special, key), (.relay, Array("wss://r.x.com".utf8)), (.relay, Array("wss://djbas.sadkb.com".utf8)),
        ]
        #expect(
            NIP19.text(prefix: "nprofile", profile)
                == "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8gpp4mhxue69uhhytnc9e3k7mgpz4mhxue69uhkg6nzv9ejuumpv34kytnrdaksjlyr9p"
        )
        let event: [(NIP19.PartType, [UInt8])] = [
            (
                .special,
                try #require(Hex.decode("fa5ed84fc8eeb959fd39ad8e48388cfc33075991ef8e50064cfcecfd918bb91b"))
            ), (.relay, Array("wss://relay1.com".utf8)), (.relay, Array("wss://relay2.com".utf8)),
            (
                .author,
                try #require(Hex.decode("82341f882b6eabcd2ba7f1ef90aad961cf074af15b9ef44a09f9d2a8fbfbe6a2"))
            ), (.kind, [0, 0, 0, 1]),
        ]
        #expect(
            NIP19.text(prefix: "nevent", event)
                == "nevent1qqs05hkcflywaw2el5u6mrjg8zx0cvc8txg7lrjsqex0em8ajx9mjxcpzpmhxue69uhhyetvv9unztnrdakszyrhwden5te0wfjkcctexghxxmmdqgsgydql3q4ka27d9wnlrmus4tvkrnc8ftc4h8h5fgyln54gl0a7dgsrqsqqqqqplcac7m"
        )
    }

    @Test func kindTakesFourBytesTheHighestFirst() throws {
        let id = try #require(EventID(hex: String(repeating: "0a", count: 32)))
        let parts: [(NIP19.PartType, [UInt8])] = [(.special, id.array), (.kind, [0, 0, 0x75, 0x30])]
        #expect(NIP19.nevent(id, kind: Kind(30_000)) == NIP19.text(prefix: "nevent", parts))
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
