import Cipher
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

    @Test func writtenNotesRoundTrip() throws {
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

    @Test func everyTypoIsDetected() throws {
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

@Suite struct NostrReferenceTests {
    private static let key = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"

    /// nostr-sdk 0.44 (rust-nostr) encodes the same values this way, without relays.
    @Test func writesProfilesAndAddressesAsOthersDo() throws {
        let key = try #require(PublicKey(hex: Self.key))
        #expect(NIP19.nprofile(key) == "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8g2lcy6q")
        let author = try #require(PublicKey(hex: "787338757fc25d65cd929394d5e7713cf43638e8d259e8dcf5c73b834eb851f2"))
        // This one is in rust-nostr's tests, too.
        #expect(
            NIP19.naddr(EventAddress(kind: Kind(30023), pubkey: author, identifier: "1692282117831"))
                == "naddr1qqxnzd3exgersv33xymnsve3qgs8suecw4luyht9ekff89x4uacneapk8r5dyk0gmn6uwwurf6u9rusrqsqqqa282m3gxt"
        )
    }

    @Test func identifierLengthIsLimited() throws {
        let key = try #require(PublicKey(hex: Self.key))
        func naddr(_ count: Int) -> String? {
            let identifier = String(repeating: "d", count: count)
            return NIP19.naddr(EventAddress(kind: Kind(30023), pubkey: key, identifier: identifier))
        }
        #expect(naddr(255).flatMap { NIP19.address(naddr: $0) }?.identifier.count == 255)
        #expect(naddr(256) == nil)
    }

    /// From the tests of rust-nostr and nostr-tools; the second address has its parts in another order (go-nostr) and
    /// has relays.
    @Test(arguments: [
        (
            "naddr1qqxnzd3exgersv33xymnsve3qgs8suecw4luyht9ekff89x4uacneapk8r5dyk0gmn6uwwurf6u9rusrqsqqqa282m3gxt",
            "30023:787338757fc25d65cd929394d5e7713cf43638e8d259e8dcf5c73b834eb851f2:1692282117831"
        ),
        (
            "naddr1qqrxyctwv9hxzq3q80cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsxpqqqp65wqfwwaehxw309aex2mrp0yhxummnw3ezuetcv9khqmr99ekhjer0d4skjm3wv4uxzmtsd3jjucm0d5q3vamnwvaz7tmwdaehgu3wvfskuctwvyhxxmmd0zfmwx",
            "30023:\(key):banana"
        ),
        (
            "naddr1qq98yetxv4ex2mnrv4esygrl54h466tz4v0re4pyuavvxqptsejl0vxcmnhfl60z3rth2xkpjspsgqqqw4rsf34vl5",
            "30023:7fa56f5d6962ab1e3cd424e758c3002b8665f7b0d8dcee9fe9e288d7751ac194:references"
        ),
    ])
    func readsAddresses(naddr: String, address: String) throws {
        #expect(NIP19.address(naddr: naddr) == EventAddress(address))
        #expect(NostrReference(naddr) == EventAddress(address).map(NostrReference.address))
    }

    @Test func readsEachEntity() throws {
        let key = try #require(PublicKey(hex: Self.key))
        let id = try #require(EventID(hex: "fa5ed84fc8eeb959fd39ad8e48388cfc33075991ef8e50064cfcecfd918bb91b"))
        let withRelays =
            "nprofile1qqsrhuxx8l9ex335q7he0f09aej04zpazpl0ne2cgukyawd24mayt8gpp4mhxue69uhhytnc9e3k7mgpz4mhxue69uhkg6nzv9ejuumpv34kytnrdaksjlyr9p"
        #expect(NostrReference(NIP19.npub(key)) == .profile(key))
        #expect(NostrReference(withRelays) == .profile(key))
        #expect(NostrReference(NIP19.note(id)) == .event(id))
        #expect(NostrReference(NIP19.nevent(id, author: key, kind: .textNote)) == .event(id))
        #expect(NostrReference(NIP19Tests.secretKey.1) == nil)
        #expect(NostrReference(NIP19.npub(key).dropLast() + "b") == nil)
    }

    @Test func entitiesAreFoundInTexts() throws {
        let key = try #require(PublicKey(hex: Self.key))
        let npub = NIP19.npub(key)
        func found(_ text: String, limit: Int = 8) -> [String] {
            NostrReference.all(in: text, limit: limit).map { String(text[$0.range]) }
        }
        #expect(found("hello nostr:\(npub), and (nostr:\(npub))é") == ["nostr:\(npub)", "nostr:\(npub)"])
        #expect(found("nostr:\(npub)nostr:\(npub)").isEmpty)
        #expect(found("web+nostr:\(npub) https://a.example/nostr:\(npub) \(npub) nostr: nostr:npub1 a:b").isEmpty)
        #expect(found("é:nostr:\(npub)\nNOSTR:\(npub)") == ["nostr:\(npub)"])
        #expect(found(String(repeating: "nostr:\(npub) ", count: 20), limit: 3).count == 3)
    }
}

/// BIP-173's lists of valid and invalid strings.
@Suite struct Bech32Tests {
    @Test(arguments: [
        "A12UEL5L", "a12uel5l",
        "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs",
        "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw",
        "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j",
        "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w", "?1ezyfcl",
    ])
    func validBech32IsRead(text: String) throws {
        let read = try #require(Bech32(text))
        #expect(read.text == text.lowercased())
    }

    @Test(arguments: [
        "\u{20}1nwldj5", "\u{7f}1axkwrx", "\u{80}1eym55h",
        "an84characterslonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1569pvx", "pzry9x0s0muk",
        "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3", "de1lg7wt\u{ff}", "A1G7SGD8", "10a06t8", "1qzzfhee", "", "1",
        "a12UEL5L",
    ])
    func invalidBech32IsRefused(text: String) {
        #expect(Bech32(text) == nil)
    }

    @Test func prefixAndValuesAreSplit() throws {
        let read = try #require(Bech32("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"))
        #expect(read.prefix == "abcdef")
        #expect(read.values == Array(0..<32))
        #expect(Bech32("A12UEL5L")?.bytes == [])
    }

    @Test func incompleteBytesAreRefused() throws {
        // 82 values of zero: 410 bits, which leave 2 over.
        let zeros = "11qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqc8247j"
        #expect(try #require(Bech32(zeros)).bytes == [UInt8](repeating: 0, count: 51))
        let checkup = try #require(Bech32("split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w"))
        #expect(checkup.values.count == 48)
        #expect(checkup.bytes?.count == 30)
        let alphabet = try #require(Bech32("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw"))
        #expect(alphabet.bytes?.count == 20)
    }
}
