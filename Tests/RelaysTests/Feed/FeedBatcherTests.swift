import Core
import Nostr
import Testing
import TimeTestSupport

@testable import Relays

@Suite struct FeedBatcherTests {
    private func batcher(_ change: (inout FeedLimits) -> Void = { _ in }) -> FeedBatcher {
        var limits = FeedLimits()
        change(&limits)
        return FeedBatcher(limits: limits)
    }

    @Test func eventsAreFoundInFormatsOfToolsAndRelays() {
        var batcher = batcher()
        let batch = batcher.read(
            """
            {"id":"1","kind":1}
            ["EVENT",{"id":"2"}]

             ["EVENT", "sub", {"id":"3","tags":[["event"]]} ] \r
            {"event":{"id":"4"},"receivedAt":1,"sourceInfo":"192.0.2.1","sourceType":"IP4","type":"new"}
            {"type":"new","sourceType":{"event":{"id":"0"}},"event":{"id":"5"}}
            {"x":{"type":"new"},"id":"6"}\r
            ["EOSE","sub"]
            {"type":"lookback","event":{"id":"7"}}

            """
        )
        #expect(
            batch.texts == [
                #"{"id":"1","kind":1}"#, #"{"id":"2"}"#, #"{"id":"3","tags":[["event"]]}"#, #"{"id":"4"}"#,
                #"{"id":"5"}"#, #"{"x":{"type":"new"},"id":"6"}"#,
            ]
        )
        #expect(batch.lines == [1, 2, 4, 5, 6, 7])
        #expect(batcher.counts == FeedCounts(lines: 9, taken: 0, refused: 0, passedOver: 3))
    }

    /// Any field may come first, with any spelling of its name and on a line of any length.
    @Test func eventMayStartWithAnyField() {
        var batcher = batcher()
        let names = [
            "id", "pubkey", "created_at", "kind", "tags", "content", "sig", "\\u0069d", "t\\u0061gs",
            "created\\u005fat",
        ]
        let lines = names.flatMap { ["{\"\($0)\":1}", "{\"x\":[{}],\"\($0)\":\"1\",\"event\":7,\"type\":\"new\"}"] }
        let batch = batcher.read(lines.joined(separator: "\n") + "\n")
        #expect(batch.texts == lines)
        for other in ["i", "sigs", "created_ax", "created_at2", "Kind", "tag\\u0073s"] {
            #expect(batcher.read("{\"\(other)\":1}\n").events.isEmpty, "\(other)")
        }
        #expect(batcher.counts.refused == 6)
    }

    @Test(
        arguments: [
            ("nonsense", "expected an event"), ("{}", "expected an event"), ("[1]", "expected an event"),
            (#"{"a":1}"#, "expected an event"), (#"["EVENT"]"#, "expected an event"),
            (#"["EVENT",{"id":"1"},"sub"]"#, "expected an event"), (#"{"type":"new"}"#, "expected an event"),
            (#"{"event":{"id":"1"}}"#, "expected an event"), (#"{"event":7,"type":"new"}"#, "expected an event"),
            (#"["EVENT",{"id":"1"}"#, "not JSON: expected a comma or ] at byte 19"),
            (#"["EVENT",{"id":"1"}] x"#, "not JSON: expected the end of the text at byte 21"),
            (#"{"type":"new","event":{"id":}}"#, "not JSON: expected a value at byte 28"),
            ("[", "expected an event"), ("{", "not JSON"), ("\u{0}", "expected an event"),
        ]
    )
    func lineWithoutAnEventIsRefusedWithItsReason(_ line: String, _ reason: String) {
        var batcher = batcher()
        let batch = batcher.read("\n" + line + "\n")
        #expect(batch.events.isEmpty)
        let complaint = batcher.report(at: 0)
        #expect(complaint?.line == 2)
        #expect(complaint?.reason.hasPrefix(reason) == true, "\(complaint?.reason ?? "none")")
        #expect(batcher.counts.refused == 1)
    }

    @Test func lineMayComeInAnyPieces() {
        let text = Array(#"["EVENT",{"id":"1"}]"#.utf8) + [0x0D, 0x0A] + Array(#"{"id":"2"}"#.utf8) + [0x0A]
        for size in 1...text.count {
            var batcher = batcher()
            var events: [String] = []
            for start in stride(from: 0, to: text.count, by: size) {
                events += text[start..<min(start + size, text.count)].withUnsafeBytes { batcher.read($0) }.texts
            }
            #expect(events == [#"{"id":"1"}"#, #"{"id":"2"}"#], "in pieces of \(size)")
        }
    }

    @Test func lastLineNeedsNoNewline() {
        var batcher = batcher()
        #expect(batcher.read(#"{"id":"1"}"#).events.isEmpty)
        #expect(batcher.splitter.isWithinLine)
        #expect(batcher.end().texts == [#"{"id":"1"}"#])
        #expect(batcher.end().events.isEmpty)
    }

    @Test func longLineIsRefusedAndTheNextOneRead() {
        for size in [1, 7, 64] {
            var batcher = batcher { $0.lineBytes = ByteCount(16) }
            let text = Array(
                (#"{"id":"0123456789abcdef"}"# + "\n" + #"{"id":"12345678"}"# + "\n{\"id\":\"12345\"}\n").utf8
            )
            var events: [String] = []
            for start in stride(from: 0, to: text.count, by: size) {
                events += text[start..<min(start + size, text.count)].withUnsafeBytes { batcher.read($0) }.texts
            }
            #expect(events == [#"{"id":"12345"}"#], "in pieces of \(size)")
            #expect(batcher.counts.refused == 2)
            #expect(batcher.report(at: 0) == RefusedLine(line: 1, reason: "longer than 16 bytes", others: 1))
        }
    }

    @Test func unaddressedEventsAreHandledWhereTheyAreRead() {
        let prefilter = ScriptedPrefilter()
        var batcher = FeedBatcher(limits: FeedLimits(), prefilter: prefilter)
        let batch = batcher.read("{\"id\":\"nobody\"}\n{\"id\":\"a\"}\r\n[\"EVENT\",{\"id\":\"nobody\"}]\n{\"id\":\"no")
        #expect(batch.texts == ["{\"id\":\"a\"}"] && batch.lines == [2])
        #expect(batcher.counts == FeedCounts(lines: 3, taken: 2, refused: 0, passedOver: 0))
        #expect(prefilter.reported == 2)
        #expect(batcher.read("body\"}\n").events.isEmpty)
        batcher.answered(batch, [.taken], now: 0)
        #expect(batcher.end().events.isEmpty && batcher.isDone)
        #expect(batcher.counts.taken == 4 && prefilter.reported == 3)
    }

    /// Otherwise an event could be skipped although it names an account that registers in the line before.
    @Test func eventsAfterARegistrationAreNotSkippedUntilItIsHandled() {
        var batcher = FeedBatcher(limits: FeedLimits(), prefilter: ScriptedPrefilter())
        let first = batcher.read("{\"id\":\"nobody\"}\n{\"id\":\"register\"}\n{\"id\":\"nobody\"}\n")
        #expect(first.lines == [2, 3])
        let second = batcher.read("{\"id\":\"register\"}\n")
        batcher.answered(first, [.taken, .taken], now: 0)
        let third = batcher.read("{\"id\":\"nobody\"}\n")
        #expect(third.lines == [5])
        batcher.answered(second, [.taken], now: 0)
        batcher.answered(third, [.taken], now: 0)
        #expect(batcher.read("{\"id\":\"nobody\"}\n").events.isEmpty)
    }

    /// Until the registration is accepted, its account is unknown, and events for it would notify no device.
    @Test func eventsBehindARetriedRegistrationAreRetriedWithIt() {
        var batcher = FeedBatcher(limits: FeedLimits(), prefilter: ScriptedPrefilter())
        let first = batcher.read("{\"id\":\"a\"}\n{\"id\":\"register\"}\n{\"id\":\"b\"}\n")
        let second = batcher.read("{\"id\":\"c\"}\n{\"id\":\"d\"}\n")
        // The later batch is answered first.
        batcher.answered(second, [.taken, .refused("invalid")], now: 0)
        #expect(batcher.unsettled == 5 && batcher.counts.refused == 0)
        batcher.answered(first, [.taken, .notNow, .taken], now: 0)
        #expect(batcher.counts == FeedCounts(lines: 5, taken: 1, refused: 1, passedOver: 0))
        #expect(batcher.nextDue == 100 && !batcher.wantsMore)
        let again = batcher.due(at: 100)
        #expect(again.lines == [2, 3, 4] && again.registering == 1)
        // A line read later also waits for the registration.
        #expect(batcher.read("{\"id\":\"nobody\"}\n").lines == [6])
        batcher.answered(again, [.notNow, .taken, .taken], now: 100)
        #expect(batcher.unsettled == 4 && batcher.counts.taken == 1)
    }

    /// The lines keep their order, so earlier batches are answered first.
    @Test func registrationIsRetriedWithEverythingAfterIt() {
        var batcher = FeedBatcher(limits: FeedLimits(), prefilter: ScriptedPrefilter())
        let first = batcher.read("{\"id\":\"register\"}\n")
        let second = batcher.read("{\"id\":\"a\"}\n")
        batcher.answered(first, [.notNow], now: 0)
        #expect(batcher.nextDue == nil && batcher.due(at: 60_000).events.isEmpty)
        batcher.answered(second, [.taken], now: 60_000)
        let again = batcher.due(at: 60_000)
        #expect(again.lines == [1, 2])
        batcher.answered(again, [.taken, .taken], now: 60_000)
        #expect(batcher.counts.taken == 2 && batcher.unsettled == 0 && batcher.wantsMore)
        #expect(batcher.read("{\"id\":\"nobody\"}\n").events.isEmpty)
    }

    /// A retry of an event without a registration delays no other event.
    @Test func retriedEventDelaysNoLaterEvents() {
        var batcher = FeedBatcher(limits: FeedLimits(), prefilter: ScriptedPrefilter())
        let first = batcher.read("{\"id\":\"a\"}\n{\"id\":\"b\"}\n")
        let second = batcher.read("{\"id\":\"c\"}\n")
        batcher.answered(second, [.taken], now: 0)
        batcher.answered(first, [.notNow, .taken], now: 0)
        #expect(batcher.counts.taken == 2 && batcher.due(at: 100).lines == [1])
    }

    @Test func readerPausesWhileTooMuchIsOutstanding() {
        var batcher = batcher { $0.outstandingEvents = 2 }
        let first = batcher.read("{\"id\":1}\n")
        #expect(batcher.wantsMore)
        let second = batcher.read("{\"id\":2}\n{\"id\":3}\n")
        #expect(!batcher.wantsMore)
        batcher.answered(second, [.taken, .taken], now: 0)
        #expect(batcher.wantsMore)
        batcher.answered(first, [.taken], now: 0)
        #expect(batcher.counts.taken == 3 && batcher.unsettled == 0)

        var narrow = self.batcher { $0.outstandingBytes = ByteCount(8) }
        _ = narrow.read("{\"id\":1}\n")
        #expect(!narrow.wantsMore)
    }

    @Test func unprocessedEventsAreRetriedWithGrowingDelays() {
        var batcher = batcher { $0.retryDelays = .milliseconds(100) ... .milliseconds(300) }
        var batch = batcher.read("{\"id\":1}\n{\"id\":2}\n{\"id\":3}\n")
        batcher.answered(batch, [.taken, .notNow, .refused("invalid: no")], now: 1_000)
        #expect(!batcher.wantsMore && batcher.unsettled == 1)
        var now: Deadline = 1_000
        for delay: Duration in [100, 200, 300, 300].map(Duration.milliseconds) {
            #expect(batcher.nextDue == now + delay)
            #expect(batcher.due(at: now + delay - .milliseconds(1)).events.isEmpty)
            now += delay
            batch = batcher.due(at: now)
            #expect(batch.texts == ["{\"id\":2}"] && batch.lines == [2])
            #expect(batcher.nextDue == nil && batcher.due(at: now).events.isEmpty)
            batcher.answered(batch, [.notNow], now: now)
        }
        batch = batcher.handOverAgain()
        // An event without an answer is not settled.
        batcher.answered(batch, [], now: now)
        batcher.answered(batcher.handOverAgain(), [.taken], now: now)
        #expect(batcher.wantsMore && batcher.nextDue == nil)
        #expect(batcher.counts == FeedCounts(lines: 3, taken: 2, refused: 1, passedOver: 0))
        // And the next error starts with the shortest wait.
        batcher.answered(batcher.read("{\"id\":4}\n"), [.notNow], now: now)
        #expect(batcher.nextDue == now + .milliseconds(100))
    }

    @Test func feedIsDoneWhenTheLastEventIsHandled() {
        var batcher = batcher()
        let batch = batcher.read("{\"id\":1}\n")
        #expect(batcher.end().events.isEmpty)
        #expect(!batcher.isDone && !batcher.wantsMore)
        batcher.answered(batch, [.notNow], now: 0)
        #expect(!batcher.isDone)
        batcher.answered(batcher.handOverAgain(), [.taken], now: 0)
        #expect(batcher.isDone)
    }

    @Test func invalidLinesAreReportedOccasionallyWithACount() {
        var batcher = batcher { $0.reportInterval = .seconds(10) }
        #expect(batcher.report(at: 0) == nil)
        _ = batcher.read("x\ny\n")
        #expect(batcher.report(at: 5) == RefusedLine(line: 1, reason: "\(batcher.refusal)", others: 1))
        _ = batcher.read("x\ny\nz\n")
        #expect(batcher.report(at: 10_004) == nil)
        #expect(batcher.report(at: 10_005) == RefusedLine(line: 3, reason: "\(batcher.refusal)", others: 2))
        #expect(batcher.report(at: 99_999) == nil)
    }
}

/// A prefilter whose result for an event is in its id.
private final class ScriptedPrefilter: EventPrefilter {
    private(set) var reported = 0
    private var passed = 0

    func finding(of json: UnsafeRawBufferPointer) -> PrefilterResult {
        let text = String(decoding: json, as: UTF8.self)
        if text.contains("register") { return .mayRegister }
        guard text.contains("nobody") else { return .mayConcernSomebody }
        passed += 1
        return .irrelevant
    }

    func report() { reported = passed }
}

extension FeedBatcher {
    fileprivate var refusal: String {
        #"expected an event, ["EVENT",…] or a message of strfry to its plugin, {"type":"new","event":…}"#
    }

    fileprivate mutating func read(_ text: String) -> FeedBatch {
        Array(text.utf8).withUnsafeBytes { read($0) }
    }
}

extension FeedBatch {
    fileprivate var texts: [String] { events.map { String(decoding: $0, as: UTF8.self) } }
}
