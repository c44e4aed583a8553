import Testing

@testable import Nostr

@Suite struct NostrReferenceTests {
    private static let key = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"

    /// What nostr-sdk 0.44 (rust-nostr) writes for the same, without relays.
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

    @Test func anIdentifierIsNoLongerThanAPart() throws {
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

    @Test func findsThemInTexts() throws {
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
