import PluginKit
import PluginTestSupport
import Testing

@testable import MutesFilter

struct MutesFilterTests {
    private let host = FakeHost()

    private func filter(_ settings: String = "{}") throws -> MutesFilter {
        try MutesFilter(configuration: JSONObject(parsing: settings), host: Host(host.pointer))
    }

    private func list(_ tags: [String]..., content: String = "") -> TestEvent {
        TestEvent(10_000, content, tags: tags, by: "recipient")
    }

    private func decision(of list: TestEvent, on event: TestEvent, _ settings: String = "{}") throws -> FilterDecision {
        try FilterInquiry(event).with { $0.lists = [list] }.decision(of: filter(settings))
    }

    @Test func missingListMutesNoEvents() throws {
        #expect(try FilterInquiry(TestEvent(1, "spam")).decision(of: filter()) == .pass)
    }

    @Test func mutedPeopleSendNoPush() throws {
        let list = list(["p", TestEvent.key("mallory"), "wss://relay.example"])
        #expect(try decision(of: list, on: TestEvent(1, "hi", by: "mallory")) == .drop(reason: "a muted account"))
        #expect(try decision(of: list, on: TestEvent(1, "hi", by: "alice")) == .pass)
        #expect(try decision(of: list, on: TestEvent(1, "hi", by: "mallory"), #"{"people":false}"#) == .pass)
        // A mentioned account is not the author.
        #expect(try decision(of: list, on: TestEvent(1, tags: [["p", TestEvent.key("mallory")]])) == .pass)
    }

    @Test func senderOfAZapIsMutedNotTheWallet() throws {
        let list = list(["p", TestEvent.key("mallory")])
        let receipt = FilterInquiry(TestEvent(9735, by: "wallet")).with { $0.lists = [list] }
        #expect(try receipt.with { $0.author = TestEvent.key("mallory") }.decision(of: filter()) != .pass)
        #expect(try receipt.with { $0.author = TestEvent.key("alice") }.decision(of: filter()) == .pass)
        let wallets = self.list(["p", TestEvent.key("wallet")])
        let zap = receipt.with {
            $0.author = TestEvent.key("alice")
            $0.lists = [wallets]
        }
        #expect(try zap.decision(of: filter()) == .pass)
    }

    /// Like in a gift wrap, whose signer is a random key.
    @Test func anUnknownAuthorIsNotMuted() throws {
        let list = list(["p", TestEvent.key("mallory")])
        let inquiry = FilterInquiry(TestEvent(1059, by: "mallory")).with {
            $0.author = ""
            $0.lists = [list]
        }
        #expect(try inquiry.decision(of: filter()) == .pass)
    }

    @Test(arguments: [
        ("Buy BITCOIN now", "bitcoin"), ("prefixbitcoinsuffix", "BitCoin"), ("große Sache", "GROSSE"),
        ("STRASSE", "straße"), ("ΣΊΣΥΦΟΣ", "σίσυφος"), ("cafe\u{301}", "CAFÉ"), ("Ｗide", "ｗIDE"),
        ("two  \n\t words", "Two Words"), ("bit\u{200b}co\u{ad}in", "bitcoin"), ("ПРИВЕТ", "привет"),
        ("日本語のスパムです", "スパム"), ("I \u{2764}\u{fe0f} you", "\u{2764}"), ("a👨‍👩‍👧b", "👨‍👩‍👧"),
    ])
    func mutedWordsMatchInEverySpelling(text: String, word: String) throws {
        let list = list(["word", word])
        #expect(try decision(of: list, on: TestEvent(1, text)) == .drop(reason: "a muted word"))
        #expect(try decision(of: list, on: TestEvent(1, text), #"{"words":false}"#) == .pass)
    }

    @Test(arguments: [
        ("bit coin", "bitcoin"), ("resume", "résumé"), ("", "x"), ("anything", ""), ("anything", "  "), ("👨‍👩‍👧", "👨"),
    ])
    func otherTextsPass(text: String, word: String) throws {
        #expect(try decision(of: list(["word", word]), on: TestEvent(1, text)) == .pass)
    }

    @Test(arguments: [
        ("an ass here", true), ("ASS!", true), ("first class", false), ("assign", false), ("ass_x", false),
        ("7ass", false),
    ])
    func onlyWholeWordsMatch(text: String, isMuted: Bool) throws {
        let decision = try decision(of: list(["word", "ass"]), on: TestEvent(1, text), #"{"whole_words":true}"#)
        #expect((decision != .pass) == isMuted)
    }

    @Test func manyWordsAreMatchedInOnePass() throws {
        let words = (0..<500).map { ["word", "w\($0)x"] }
        let list = TestEvent(10_000, tags: words)
        #expect(try decision(of: list, on: TestEvent(1, String(repeating: "w7 w12 ", count: 500) + "w499x")) != .pass)
        #expect(try decision(of: list, on: TestEvent(1, String(repeating: "w7 w12 ", count: 500))) == .pass)
    }

    @Test func excessiveWordsAreOmitted() throws {
        let long = String(repeating: "x", count: 129)
        #expect(try decision(of: list(["word", long], ["word", "spam"]), on: TestEvent(1, long)) == .pass)
        #expect(try decision(of: list(["word", long], ["word", "spam"]), on: TestEvent(1, "spam")) != .pass)
        let words = (0..<400).map { ["word", "(\($0))" + String(repeating: "y", count: 100)] }
        let full = TestEvent(10_000, tags: words + [["word", "spam"]])
        #expect(try decision(of: full, on: TestEvent(1, words[0][1])) != .pass)
        #expect(try decision(of: full, on: TestEvent(1, words[399][1])) == .pass, "those that come first count")
    }

    @Test func nestedTextsMatchAndCodeDoesNot() throws {
        let list = list(["word", "sig"])
        let inner = TestEvent(1, "nothing here").json
        #expect(try decision(of: list, on: TestEvent(6, inner)) == .pass)
        #expect(try decision(of: list, on: TestEvent(6, TestEvent(1, "a sig of mine").json)) != .pass)
        #expect(try decision(of: list, on: TestEvent(6, "")) == .pass)
        for kind in [4, 1059, 21_059, 3] { #expect(try decision(of: list, on: TestEvent(kind, "sigSIGsig")) == .pass) }
        let request = TestEvent(9734, "no sig please").json
        #expect(try decision(of: list, on: TestEvent(9735, tags: [["description", request]])) != .pass)
        #expect(try decision(of: list, on: TestEvent(9735, tags: [["description", "{sig"]])) == .pass)
    }

    @Test(
        arguments: [
            ("see #NoStr now", [], true), ("#nostr", [], true), ("(#nostr)", [], true), ("#nostrich", [], false),
            ("nostr", [], false), ("x#nostr", [], false), ("#nostr_x", [], false), ("", [["t", "nostr"]], true),
            ("", [["t", "NOSTR"]], true), ("", [["t", "#nostr"]], true), ("", [["t", "nostrich"]], false),
        ] as [(String, [[String]], Bool)]
    )
    func hashtagsAreMutedInTagsAndTexts(text: String, tags: [[String]], isMuted: Bool) throws {
        let expected: FilterDecision = isMuted ? .drop(reason: "a muted hashtag") : .pass
        #expect(try decision(of: list(["t", "Nostr"]), on: TestEvent(1, text, tags: tags)) == expected)
        #expect(try decision(of: list(["t", "#nostr"]), on: TestEvent(1, text, tags: tags)) == expected)
        let off = try decision(of: list(["t", "nostr"]), on: TestEvent(1, text, tags: tags), #"{"hashtags":false}"#)
        #expect(off == .pass)
    }

    @Test func threadsAreMutedWithAllDescendants() throws {
        let root = TestEvent(1, "root")
        let muting = list(["e", root.id])
        let filter = try filter()
        func decision(_ event: TestEvent, _ list: TestEvent) throws -> FilterDecision {
            try FilterInquiry(event).with { $0.lists = [list] }.decision(of: filter)
        }
        let child = TestEvent(1, "child", tags: [["e", root.id, "", "root"]])
        let grandchild = TestEvent(1, "grandchild", tags: [["e", child.id]])
        let deeper = TestEvent(1111, "deeper", tags: [["E", grandchild.id], ["e", grandchild.id]])
        let stranger = TestEvent(1, "stranger", tags: [["e", TestEvent.key("another thread")]])
        #expect(try decision(grandchild, muting) == .pass, "nothing tells yet where it belongs")
        for event in [root, child, grandchild, deeper] {
            #expect(try decision(event, muting) == .drop(reason: "a muted thread"))
        }
        #expect(try decision(stranger, muting) == .pass)
        let other = list(["e", TestEvent.key("x")])
        for event in [root, child, grandchild, deeper] { #expect(try decision(event, other) == .pass) }
        #expect(try self.decision(of: muting, on: child, #"{"threads":false}"#) == .pass)
    }

    @Test func mutedAuthorsEventStillBelongsToItsThread() throws {
        let muting = list(["e", TestEvent.key("root")], ["p", TestEvent.key("mallory")])
        let filter = try filter()
        let child = TestEvent(1, tags: [["e", TestEvent.key("root")]], by: "mallory")
        for event in [child, TestEvent(1, "an answer", tags: [["e", child.id]])] {
            let inquiry = FilterInquiry(event).with { $0.lists = [muting] }
            #expect(try inquiry.decision(of: filter) == .drop(reason: "a muted thread"))
        }
    }

    @Test func rememberedEventsAreBounded() throws {
        let root = TestEvent.key("root")
        let muting = list(["e", root])
        let filter = try filter(#"{"remembered_events":10}"#)
        let children = (0..<50).map { TestEvent(1, "\($0)", tags: [["e", root]]) }
        for child in children {
            #expect(try FilterInquiry(child).with { $0.lists = [muting] }.decision(of: filter) != .pass)
        }
        let decisions = try [children[0], children[49]].map { child in
            try FilterInquiry(TestEvent(1, tags: [["e", child.id]])).with { $0.lists = [muting] }.decision(of: filter)
        }
        #expect(decisions[0] == .pass && decisions[1] != .pass)
    }

    @Test func newListAppliesToTheNextEvent() throws {
        let filter = try filter()
        let event = TestEvent(1, "spam", by: "mallory")
        for (list, isMuted) in [
            (list(["word", "eggs"]), false), (list(["word", "spam"]), true), (list(["word", "eggs"]), false),
        ] {
            let decision = try FilterInquiry(event).with { $0.lists = [list] }.decision(of: filter)
            #expect((decision != .pass) == isMuted)
        }
        let inquiry = FilterInquiry(event).with {
            $0.lists = [list(["word", "spam"])]
            $0.recipient = TestEvent.key("another")
        }
        #expect(try inquiry.decision(of: filter) != .pass)
    }

    @Test func malformedListMutesItsReadableEntries() throws {
        let list = list(
            ["p"],
            ["p", "zz"],
            [],
            ["p", TestEvent.key("mallory")],
            ["e", "short"],
            ["word"],
            ["unknown", "x"],
            ["t", ""]
        )
        #expect(try decision(of: list, on: TestEvent(1, "#x short zz", by: "alice")) == .pass)
        #expect(try decision(of: list, on: TestEvent(1, by: "mallory")) != .pass)
    }

    @Test func privateEntriesAreSkippedAndLoggedOncePerList() throws {
        let filter = try filter()
        let nip44 = list(["word", "spam"], content: "AgF7f+secret")
        let nip04 = list(["word", "eggs"], content: "c2VjcmV0?iv=aXY=")
        for list in [nip44, nip44, nip04, nip44, list(["word", "none"])] {
            _ = try FilterInquiry(TestEvent(1, "x")).with { $0.lists = [list] }.decision(of: filter)
        }
        #expect(host.log.count == 2)
        #expect(host.log.first?.contains("NIP-44") == true && host.log.last?.contains("NIP-04") == true)
        for line in host.log {
            #expect(!line.contains("secret") && !line.contains(nip44.id) && !line.contains(nip44.pubkey))
        }
        let inquiry = FilterInquiry(TestEvent(1, "spam")).with { $0.lists = [nip44] }
        #expect(try inquiry.decision(of: filter) != .pass)
    }

    @Test(arguments: [
        (#"{"people":1}"#, "people: expected true or false, found a number"),
        (#"{"remembered_events":0}"#, "remembered_events: expected a whole number from 1 to 1000000, found 0"),
        (
            #"{"word":true}"#,
            "word: unknown key, expected only people, words, whole_words, hashtags, threads, remembered_events"
        ),
    ])
    func invalidSettingsAreRefused(settings: String, mistake: String) {
        #expect(#expect(throws: PluginError.self) { try filter(settings) }?.description == mistake)
    }
}
