import CarillonABI
import Core
import PluginKit
import PluginTestSupport
import Testing
import TimeTestSupport

@testable import NoiseFilter

struct NoiseFilterTests {
    private let host = FakeHost()

    private func filter(_ settings: String) throws -> NoiseFilter {
        try NoiseFilter(configuration: JSONObject(parsing: settings), host: Host(host.pointer))
    }

    private func named(_ count: Int, kind: Int = 1) -> TestEvent {
        TestEvent(kind, tags: (0..<count).map { ["p", TestEvent.key("\($0)")] })
    }

    @Test func noEventIsNoiseByDefault() throws {
        #expect(try FilterInquiry(named(500)).decision(of: filter("{}")) == .pass)
        #expect(try filter("{}").need == .nothing)
    }

    @Test func crowdsAreDropped() throws {
        let filter = try filter(#"{"hellthread":10}"#)
        #expect(try FilterInquiry(named(10)).decision(of: filter) == .pass)
        #expect(try FilterInquiry(named(11)).decision(of: filter) == .drop(reason: "it mentions 11 accounts"))
        let repeated = TestEvent(1, tags: Array(repeating: ["p", TestEvent.key("one")], count: 20))
        #expect(try FilterInquiry(repeated).decision(of: filter) == .pass, "one person, however often")
        #expect(try FilterInquiry(named(500, kind: 3)).decision(of: filter) == .pass, "a contact list is no thread")
    }

    @Test(
        arguments: [
            (99_999, false, false), (100_000, false, true), (9_999, true, false), (10_000, true, true),
            (0, false, false),
        ] as [(UInt64, Bool, Bool)]
    )
    func smallZapsAreDropped(millisats: UInt64, isFollowed: Bool, isPassed: Bool) throws {
        let filter = try filter(#"{"min_zap_sats":100,"min_zap_sats_from_follows":10}"#)
        #expect(filter.need == .followed)
        let inquiry = FilterInquiry(TestEvent(9735, by: "wallet")).with {
            $0.signal = "zap"
            $0.zapMillisats = millisats
            $0.distance = isFollowed ? .CARILLON_DISTANCE_FOLLOWED : .CARILLON_DISTANCE_NOT_FOLLOWED
        }
        #expect((try inquiry.decision(of: filter) == .pass) == isPassed)
    }

    @Test func zapMinimumAppliesToAllSendersAndToZapsOnly() throws {
        let filter = try filter(#"{"min_zap_sats":100}"#)
        #expect(filter.need == .nothing)
        #expect(try FilterInquiry(TestEvent(1, "hi")).decision(of: filter) == .pass)
        let zap = FilterInquiry(TestEvent(9735)).with {
            $0.signal = "zap"
            $0.zapMillisats = 99_000
            $0.distance = .CARILLON_DISTANCE_FOLLOWED
        }
        #expect(try zap.decision(of: filter) == .drop(reason: "a zap of less than 100 sats"))
    }

    /// The first is the example in NIP-13, of difficulty 36 by its text.
    @Test(arguments: [
        ("000000000e9d97a1ab09fc381030b346cdd7a142ad57e6df0b46dc9bef6c7e2d", 36),
        ("0000000000000000000000000000000000000000000000000000000000000000", 256),
        ("002f00000000000000000000000000000000000000000000000000000000000000", 10),
        ("1fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", 3),
        ("4fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", 1),
        ("ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", 0),
    ])
    func zeroBitsAreCounted(id: String, bits: Int) {
        #expect(ProofOfWork.leadingZeroBits(id) == bits)
    }

    private func worked(_ id: String, target: String?, kind: Int = 1) -> TestEvent {
        var event = TestEvent(kind, "work", tags: target.map { [["nonce", "776797", $0]] } ?? [])
        event.id = id
        return event
    }

    @Test(
        arguments: [
            ("20", true), ("21", true), ("36", true), ("100", true), ("19", false), ("0", false), ("-1", false),
            ("x", false),
            (nil, false),
        ] as [(String?, Bool)]
    )
    func workCountsUpToItsTarget(target: String?, isPassed: Bool) throws {
        let event = worked("000000000e9d97a1ab09fc381030b346cdd7a142ad57e6df0b46dc9bef6c7e2d", target: target)
        let decision = try FilterInquiry(event).decision(of: filter(#"{"difficulty":20}"#))
        #expect((decision == .pass) == isPassed)
    }

    @Test func luckyIDDoesNotReplaceATarget() throws {
        let event = worked("000fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", target: "20")
        #expect(
            try FilterInquiry(event).decision(of: filter(#"{"difficulty":20}"#))
                == .drop(reason: "difficulty 12 of 20")
        )
    }

    @Test func difficultyMayDifferBySignal() throws {
        let filter = try filter(#"{"difficulty":{"mention":8,"dm":0}}"#)
        let event = worked("00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff", target: nil)
        for (signal, isPassed) in [("mention", false), ("dm", true), ("reply", true)] {
            let decision = try FilterInquiry(event).with { $0.signal = signal }.decision(of: filter)
            #expect((decision == .pass) == isPassed)
        }
        #expect(
            try FilterInquiry(event).with { $0.signal = "zap" }.decision(of: self.filter(#"{"difficulty":8}"#)) == .pass
        )
    }

    @Test func followedAuthorsNeedNoWork() throws {
        let event = FilterInquiry(TestEvent(1, "hi")).with { $0.distance = .CARILLON_DISTANCE_FOLLOWED }
        let lenient = try filter(#"{"difficulty":20}"#)
        #expect(try event.decision(of: lenient) == .pass)
        #expect(lenient.need == .followed)
        let strict = try filter(#"{"difficulty":20,"difficulty_from_follows":true}"#)
        #expect(try event.decision(of: strict) != .pass)
        #expect(strict.need == .nothing)
    }

    @Test func burstsAreCutOffPerAuthorAndRecipient() throws {
        let filter = try filter(#"{"burst":{"events":3,"seconds":60}}"#)
        func passes(
            _ number: Int,
            by author: String = "mallory",
            at second: Int64,
            to recipient: String = "r"
        ) throws -> Bool {
            let inquiry = FilterInquiry(TestEvent(1, "\(number)", by: author)).with {
                $0.now += .seconds(second)
                $0.recipient = TestEvent.key(recipient)
            }
            return try inquiry.decision(of: filter) == .pass
        }
        #expect(try (1...5).map { try passes($0, at: Int64($0)) } == [true, true, true, false, false])
        #expect(try passes(6, by: "alice", at: 5))
        #expect(try passes(7, at: 5, to: "another"))
        #expect(try !passes(8, at: 60))
        #expect(try passes(9, at: 61), "the first was a minute ago")
        #expect(try !passes(10, at: 61))
        #expect(try passes(11, at: -100), "a clock that was set back holds nobody up")
    }

    @Test func oneEventCountsOnceAndUnknownAuthorsDoNot() throws {
        let filter = try filter(#"{"burst":{"events":1,"seconds":60}}"#)
        let event = FilterInquiry(TestEvent(1, "hi"))
        #expect(try event.decision(of: filter) == .pass)
        #expect(try event.with { $0.signal = "reply" }.decision(of: filter) == .pass)
        #expect(
            try FilterInquiry(TestEvent(1, "again")).decision(of: filter) == .drop(reason: "a burst from one author")
        )
        for number in 0..<5 {
            let wrap = FilterInquiry(TestEvent(1059, "\(number)")).with { $0.author = "" }
            #expect(try wrap.decision(of: filter) == .pass)
        }
    }

    @Test func eventDroppedForAnotherReasonUsesNoBurst() throws {
        let filter = try filter(#"{"hellthread":1,"burst":{"events":1,"seconds":60}}"#)
        #expect(try FilterInquiry(named(2)).decision(of: filter) != .pass)
        #expect(try FilterInquiry(named(1)).decision(of: filter) == .pass)
    }

    @Test func theMemoryOfBurstsIsBounded() throws {
        let limit = try BurstLimit(JSONObject(parsing: #"{"events":1,"seconds":60}"#))
        var memory = BurstMemory(limit, capacity: 10)
        func admits(_ author: Int, _ event: String) -> Bool {
            memory.admits(event, of: BurstMemory.Pair(author: "\(author)", recipient: "r"), at: 1000)
        }
        #expect((0..<100).allSatisfy { admits($0, "a\($0)") })
        #expect(!admits(99, "b"))
        #expect(admits(0, "c"), "forgotten")
    }

    @Test func exceptedSignalsPass() throws {
        let filter = try filter(#"{"hellthread":1,"except":["dm"]}"#)
        #expect(try FilterInquiry(named(5)).with { $0.signal = "dm" }.decision(of: filter) == .pass)
        #expect(try FilterInquiry(named(5)).decision(of: filter) != .pass)
    }

    @Test(arguments: [
        (#"{"hellthread":0}"#, "hellthread: expected a whole number from 1 to 100000, found 0"),
        (#"{"min_zap_sats":"many"}"#, "min_zap_sats: expected a whole number from 0 to 2100000000000000, found text"),
        (
            #"{"difficulty":300}"#,
            "difficulty: expected bits, a whole number from 0 to 256, or a mapping of signals to bits, found 300"
        ),
        (
            #"{"difficulty":{"dm":"x"}}"#,
            "difficulty.dm: expected bits, a whole number from 0 to 256, or a mapping of signals to bits, found text"
        ),
        (
            #"{"difficulty":{"zap":8}}"#,
            "difficulty.zap: a zap's receipt contains the wallet's work; use min_zap_sats instead"
        ),
        (#"{"burst":5}"#, "burst: expected as in { events: 5, seconds: 60 }, found a number"),
        (#"{"burst":{"events":5}}"#, "burst.seconds: expected a whole number from 1 to 86400, found nothing"),
        (#"{"burst":{"events":5,"seconds":60,"x":1}}"#, "burst.x: unknown key, expected only events, seconds"),
        (#"{"burst":{"events":0,"seconds":60}}"#, "burst.events: expected a whole number from 1 to 100, found 0"),
        (
            #"{"except":["DM"]}"#,
            "except: expected signals such as dm, of 1 to 32 of a-z, 0-9, _ and -, found another text"
        ),
        (
            #"{"difficulty":{"Mention":8}}"#,
            "difficulty.Mention: expected signals such as mention, of 1 to 32 of a-z, 0-9, _ and -"
        ),
    ])
    func invalidSettingsAreRefused(settings: String, mistake: String) {
        #expect(#expect(throws: PluginError.self) { try filter(settings) }?.description == mistake)
    }
}
