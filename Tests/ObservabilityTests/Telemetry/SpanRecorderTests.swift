import Cipher
import Core
import Delivery
import DeliveryTestSupport
import Foundation
import Nostr
import Pipeline
import Push
import Testing
import TimeTestSupport

@testable import Observability

struct SpanRecorderTests {
    private static let ios = QueueName(platform: "ios", app: "default")
    private let ids: TraceIDs
    private var recorder: SpanRecorder

    init() throws {
        ids = try Self.ids(sample: 1)
        recorder = SpanRecorder(ids)
    }

    private static func ids(sample: Double) throws -> TraceIDs {
        try TraceIDs(seed: [UInt8](repeating: 7, count: 32), sample: sample)
    }

    private func event(_ number: UInt8) throws -> EventID {
        EventID(try #require(Bytes32(bytes: [UInt8](repeating: number, count: 32))))
    }

    private func report(
        _ kind: DeliveryReport.Kind,
        attempt: Int,
        status: UInt32 = 0,
        reason: String = ""
    ) -> DeliveryReport {
        DeliveryReport(
            delivery: "d1",
            device: DeviceID(rawValue: 3),
            queue: Self.ios,
            kind: kind,
            status: status,
            reason: reason,
            attempt: attempt
        )
    }

    private func start(_ attempt: Int) -> AttemptStart {
        AttemptStart(delivery: "d1", queue: Self.ios, attempt: attempt, age: .zero)
    }

    private func queued(_ event: EventID) -> TraceStep {
        TraceStep(step: .queued, event: event, device: DeviceID(rawValue: 3), delivery: "d1", reason: "by the rule")
    }

    private func text(_ span: Span, _ key: String) -> String? {
        switch span.attributes.first(where: { $0.key == key })?.value {
        case .text(let text): text
        case .number(let number): String(number)
        case nil: nil
        }
    }

    @Test mutating func pushHasSpansForEveryStep() throws {
        let event = try event(1)
        let context = try #require(ids.context(of: event))
        let roots = recorder.add([queued(event)], at: 1_000)
        #expect(roots.map(\.name) == ["event"] && roots[0].id == context.root && roots[0].parent == nil)
        #expect(roots[0].events == [Span.Event(name: "queued", time: 1_000, reason: "by the rule")])
        recorder.began([start(1)], at: 1_010)
        let failed = recorder.ended([report(.retry, attempt: 1, status: 503, reason: "server-error")], at: 1_050)
        #expect(failed.map(\.name) == ["attempt"] && failed[0].failure == "server-error")
        #expect(failed[0].start == 1_010 && failed[0].end == 1_050)
        #expect(text(failed[0], "http.response.status_code") == "503")
        #expect(recorder.ended([report(.postponed, attempt: 1)], at: 1_500).isEmpty)
        recorder.began([start(2)], at: 2_000)
        let ends = recorder.ended([report(.delivered, attempt: 2, status: 200)], at: 2_020)
        #expect(ends.map(\.name) == ["attempt", "delivery"] && ends[0].parent == ends[1].id)
        #expect(ends[1].parent == context.root && Set(ends.map(\.trace)) == [context.trace])
        #expect(ends[1].start == 1_000 && ends[1].end == 2_020 && ends[1].failure == nil)
        #expect(text(ends[1], "carillon.outcome") == "delivered" && text(ends[1], "carillon.attempts") == "2")
        #expect(ends[1].events.map(\.name) == ["queued", "postponed"])
        #expect(Set([failed[0].id, ends[0].id, ends[1].id, context.root]).count == 4)
    }

    @Test mutating func reportMayArriveBeforeItsStep() throws {
        recorder.began([start(1)], at: 1_001)
        #expect(recorder.ended([report(.delivered, attempt: 1, status: 200)], at: 1_002).isEmpty)
        let spans = recorder.add([queued(try event(1))], at: 1_000)
        #expect(Set(spans.map(\.name)) == ["event", "delivery", "attempt"])
    }

    @Test mutating func endMayBeReportedBeforeTheStart() throws {
        _ = recorder.add([queued(try event(1))], at: 1_000)
        #expect(recorder.ended([report(.retry, attempt: 1)], at: 1_002).map(\.start) == [1_002])
        recorder.began([start(1)], at: 1_003)
        #expect(recorder.ended([report(.expired, attempt: 1)], at: 9_000).map(\.name) == ["delivery"])
    }

    @Test mutating func anEventThatWaitsIsOneSpan() throws {
        let event = try event(1)
        #expect(recorder.add([TraceStep(step: .waiting, event: event)], at: 1_000).isEmpty)
        let spans = recorder.add([queued(event)], at: 1_700)
        #expect(spans.map(\.name) == ["event"] && spans[0].start == 1_000 && spans[0].end == 1_700)
        // A later copy creates no second span.
        #expect(recorder.add([TraceStep(step: .duplicate, event: event)], at: 2_000).isEmpty)
    }

    @Test mutating func severalEventsInOnePushAreLinked() throws {
        let (first, second) = (try event(1), try event(2))
        _ = recorder.add(
            [TraceStep(step: .held, event: first, device: DeviceID(rawValue: 3), delivery: "d1")],
            at: 1_000
        )
        _ = recorder.add([TraceStep(step: .batched, event: second, delivery: "d1")], at: 2_000)
        _ = recorder.add([TraceStep(step: .released, event: nil, delivery: "d1", reason: "2")], at: 3_000)
        let ends = recorder.ended([report(.delivered, attempt: 1)], at: 3_100)
        #expect(ends.last?.links == [try #require(ids.context(of: second))])
        #expect(ends.last?.events.map(\.name) == ["held", "batched", "released"])
    }

    @Test mutating func heldPushMayContinueInAnother() throws {
        _ = recorder.add([TraceStep(step: .held, event: try event(1), delivery: "d1")], at: 1_000)
        let spans = recorder.add([TraceStep(step: .joined, event: nil, delivery: "d1", reason: "d0")], at: 2_000)
        #expect(spans.map { text($0, "carillon.outcome") } == ["joined"])
    }

    @Test func unsampledEventHasNoSpans() throws {
        var none = SpanRecorder(try Self.ids(sample: 0))
        #expect(none.add([queued(try event(1))], at: 1_000).isEmpty)
        #expect(none.ended([report(.delivered, attempt: 1)], at: 1_001).isEmpty)
        let tenth = try Self.ids(sample: 0.1)
        let sampled = try (0..<250).filter { tenth.context(of: try event(UInt8($0))) != nil }.count
        #expect((10...45).contains(sampled))
        #expect(try Self.ids(sample: 0.1).context(of: event(5)) == tenth.context(of: event(5)))
    }

    @Test mutating func recorderMemoryIsLimited() throws {
        for number in 0..<20_000 {
            _ = recorder.add([TraceStep(step: .held, event: try event(1), delivery: "d\(number)")], at: 1_000)
            recorder.began(
                [AttemptStart(delivery: "unknown\(number)", queue: Self.ios, attempt: 1, age: .zero)],
                at: 1_000
            )
        }
        #expect(recorder.shed == 20_000 - 16_384)
    }

    @Test mutating func jsonFollowsOTLP() throws {
        let spans = recorder.add([queued(try event(1))], at: 1_000)
        let body = OTLP.body(spans, service: "a \"b\"", version: "1")
        let json = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
        let resources = try #require(json["resourceSpans"] as? [[String: Any]])
        let scopes = try #require(resources.first?["scopeSpans"] as? [[String: Any]])
        let span = try #require((scopes.first?["spans"] as? [[String: Any]])?.first)
        #expect((span["traceId"] as? String)?.count == 32 && (span["spanId"] as? String)?.count == 16)
        #expect(span["startTimeUnixNano"] as? String == "1000000000" && span["kind"] as? Int == 5)
    }
}
