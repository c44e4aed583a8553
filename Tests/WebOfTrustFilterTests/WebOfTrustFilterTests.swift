import CarillonABI
import PluginKit
import PluginTestSupport
import Testing

@testable import WebOfTrustFilter

struct WebOfTrustFilterTests {
    private let host = FakeHost()

    private func filter(_ settings: String) throws -> WebOfTrustFilter {
        try WebOfTrustFilter(configuration: JSONObject(parsing: settings), host: Host(host.pointer))
    }

    private func passes(
        _ settings: String,
        _ distance: carillon_follow_distance,
        _ change: (inout FilterInquiry) -> Void = { _ in }
    ) throws -> Bool {
        let inquiry = FilterInquiry(TestEvent(1, "hi")).with {
            $0.distance = distance
            change(&$0)
        }
        return try inquiry.decision(of: filter(settings)) == .pass
    }

    @Test(
        arguments: [
            (.CARILLON_DISTANCE_FOLLOWED, true, true), (.CARILLON_DISTANCE_SECOND, false, true),
            (.CARILLON_DISTANCE_STRANGER, false, false),
        ] as [(carillon_follow_distance, Bool, Bool)]
    )
    func nearAuthorPasses(distance: carillon_follow_distance, follows: Bool, followsOfFollows: Bool) throws {
        for unknown in ["pass", "drop"] {
            #expect(try passes(#"{"level":"follows","unknown":"\#(unknown)"}"#, distance) == follows)
            #expect(
                try passes(#"{"level":"follows-of-follows","unknown":"\#(unknown)"}"#, distance) == followsOfFollows
            )
        }
    }

    @Test(arguments: [("pass", true), ("drop", false)])
    func unknownDistanceFollowsTheOperatorsSetting(unknown: String, passes: Bool) throws {
        let (near, far) = (
            #"{"level":"follows","unknown":"\#(unknown)"}"#, #"{"level":"follows-of-follows","unknown":"\#(unknown)"}"#
        )
        #expect(try self.passes(near, .CARILLON_DISTANCE_UNKNOWN) == passes)
        #expect(try self.passes(far, .CARILLON_DISTANCE_UNKNOWN) == passes)
        #expect(try !self.passes(far, .CARILLON_DISTANCE_NOT_FOLLOWED))
        #expect(try !self.passes(near, .CARILLON_DISTANCE_NOT_FOLLOWED))
        // The author of a gift wrap can be any key.
        #expect(try self.passes(near, .CARILLON_DISTANCE_STRANGER) { $0.author = "" } == passes)
        #expect(try self.passes(near, carillon_follow_distance(rawValue: 99) ?? .CARILLON_DISTANCE_UNKNOWN) == passes)
    }

    /// Otherwise, a large number of unknown authors would be enough, because relays cannot be asked about all of them.
    @Test func undecidedDistancePassesOnlyIfConfigured() throws {
        for (undecided, isPassed) in [("pass", true), ("drop", false)] {
            let far = #"{"level":"follows-of-follows","unknown":"pass","undecided":"\#(undecided)"}"#
            #expect(try passes(far, .CARILLON_DISTANCE_NOT_FOLLOWED) == isPassed)
            let near = #"{"level":"follows","undecided":"\#(undecided)"}"#
            #expect(try !passes(near, .CARILLON_DISTANCE_NOT_FOLLOWED))
        }
        #expect(try !passes(#"{"level":"follows-of-follows"}"#, .CARILLON_DISTANCE_NOT_FOLLOWED))
    }

    @Test func unknownDistancePassesByDefault() throws {
        #expect(try passes(#"{"level":"follows"}"#, .CARILLON_DISTANCE_UNKNOWN))
    }

    @Test func exceptedSignalsPass() throws {
        let settings = #"{"level":"follows","except":["dm","zap"]}"#
        for (signal, isPassed) in [("dm", true), ("zap", true), ("mention", false)] {
            #expect(try passes(settings, .CARILLON_DISTANCE_STRANGER) { $0.signal = signal } == isPassed)
        }
    }

    @Test func aZapThatIsLargeEnoughPasses() throws {
        let settings = #"{"level":"follows","min_zap_sats":21}"#
        for (millisats, isPassed) in [(20_999, false), (21_000, true), (0, false)] as [(UInt64, Bool)] {
            #expect(try passes(settings, .CARILLON_DISTANCE_STRANGER) { $0.zapMillisats = millisats } == isPassed)
        }
        #expect(try !passes(#"{"level":"follows"}"#, .CARILLON_DISTANCE_STRANGER) { $0.zapMillisats = 1_000_000 })
    }

    @Test func filterDeclaresOnlyTheDistanceItNeeds() throws {
        #expect(try filter(#"{"level":"follows"}"#).need == .followed)
        #expect(try filter(#"{"level":"follows-of-follows"}"#).need == .distance)
    }

    @Test(arguments: [
        ("{}", "level: expected follows or follows-of-follows, found nothing"),
        (#"{"level":"friends"}"#, "level: expected follows or follows-of-follows, found another text"),
        (#"{"level":"follows","unknown":true}"#, "unknown: expected pass or drop, found true or false"),
        (#"{"level":"follows","except":"dm"}"#, "except: expected a list of signals such as dm, found text"),
        (#"{"level":"follows","except":[1]}"#, "except: expected signals such as dm in the list, found a number"),
        (
            #"{"level":"follows","except":["dm","all of them"]}"#,
            "except: expected signals such as dm, of 1 to 32 of a-z, 0-9, _ and -, found another text"
        ),
        (
            #"{"level":"follows","min_zap_sats":-1}"#,
            "min_zap_sats: expected a whole number from 0 to 2100000000000000, found -1"
        ),
        (
            #"{"level":"follows","depth":3}"#,
            "depth: unknown key, expected only level, except, unknown, undecided, min_zap_sats"
        ),
    ])
    func invalidSettingsAreRefused(settings: String, mistake: String) {
        #expect(#expect(throws: PluginError.self) { try filter(settings) }?.description == mistake)
    }
}
