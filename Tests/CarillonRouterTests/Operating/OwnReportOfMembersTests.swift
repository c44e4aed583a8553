import Testing

@testable import Operations

/// An account's report if several members of a cluster know a part of it.
@Suite struct OwnReportOfMembersTests {
    private static func step(_ at: String, _ word: String) -> OwnReport.Step {
        OwnReport.Step(at: at, step: word, words: word)
    }

    private static func device(success: String?, waiting: Int?) -> OwnReport.Device {
        OwnReport.Device(
            id: "d1",
            name: "phone",
            platform: "ios",
            app: "default",
            mode: "alert",
            isDefaultMode: false,
            signals: ["mention"],
            registeredAt: "2026-01-01T00:00:00Z",
            lastSuccess: success.map { DeviceOverview.Push(at: $0, outcome: "delivered") },
            held: [],
            waiting: waiting
        )
    }

    private static func report(
        _ device: OwnReport.Device,
        relays: [(String, String)] = [],
        events: [OwnReport.Event] = [],
        since: String? = nil
    ) -> OwnReport {
        OwnReport(
            account: "a",
            npub: "n",
            isBlocked: false,
            devices: [device],
            waiting: [],
            groups: [],
            relays: relays.map { OwnReport.Relay(url: $0.0, state: $0.1, lastMessages: []) },
            lists: [],
            events: events,
            tracedSince: since,
            limits: OwnReport.Limits(devices: 1, registrationsPerHour: 1)
        )
    }

    private static func event(
        _ id: String,
        _ steps: [OwnReport.Step],
        device: [OwnReport.Step],
        _ outcome: String
    ) -> OwnReport.Event {
        let device = OwnReport.Event.Device(id: "d1", steps: device, outcome: outcome)
        return OwnReport.Event(event: id, steps: steps, devices: [device])
    }

    @Test func queueComesFromTheOwnerAndTheLastPushFromTheFormerOne() throws {
        let owner = Self.report(
            Self.device(success: "2026-01-02T00:00:00Z", waiting: 3),
            relays: [("wss://a.example", "idle"), ("wss://b.example", "connected")],
            since: "2026-01-01T00:00:00Z"
        )
        let former = Self.report(
            Self.device(success: "2026-01-03T00:00:00Z", waiting: 0),
            relays: [("wss://a.example", "connected")],
            since: "2026-01-02T12:00:00Z"
        )
        let facts = [OwnFacts(isOwner: false, report: former), OwnFacts(isOwner: true, report: owner)]
        let whole = try #require(OwnReport.together(facts, isWhole: true))
        #expect(whole.devices.map(\.waiting) == [3] && whole.isPartial == nil)
        #expect(whole.devices.map(\.lastSuccess?.at) == ["2026-01-03T00:00:00Z"])
        #expect(whole.relays.map(\.state) == ["connected", "connected"])
        #expect(whole.tracedSince == "2026-01-02T12:00:00Z")
        // Without the owner, the number of waiting deliveries is unknown.
        let rest = try #require(OwnReport.together([facts[0]], isWhole: false))
        #expect(rest.devices.map(\.waiting) == [nil] && rest.isPartial == true)
    }

    @Test func eventIsExplainedFromArrivalToEnd() throws {
        let came = Self.step("2026-01-01T00:00:01Z", "came")
        let queued = Self.step("2026-01-01T00:00:02Z", "queued")
        let retry = Self.step("2026-01-01T00:00:03Z", "retry")
        let delivered = Self.step("2026-01-01T00:00:09Z", "delivered")
        let whole = try #require(
            OwnReport.Event.together([
                Self.event("e", [came], device: [queued, retry], "tried again"),
                Self.event("e", [came], device: [delivered], "delivered"),
            ])
        )
        #expect(whole.steps == [came] && whole.devices.map(\.steps) == [[queued, retry, delivered]])
        #expect(whole.devices.map(\.outcome) == ["delivered"])
        let other = Self.event("f", [], device: [retry], "tried again")
        let report = Self.report(Self.device(success: nil, waiting: 0), events: [other, whole])
        let together = try #require(OwnReport.together([OwnFacts(isOwner: true, report: report)], isWhole: true))
        #expect(together.events.map(\.event) == ["e", "f"])
        #expect(OwnReport.together([], isWhole: true) == nil && OwnReport.Event.together([]) == nil)
    }
}
