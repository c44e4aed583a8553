import Core
import Foundation
import HTTPClient
import Testing
import TimeTestSupport

@testable import Observability

struct SpanQueueTests {
    private var queue = SpanQueue()

    private func spans(_ count: Int) -> [Span] {
        (0..<count).map {
            Span(
                TraceContext(trace: "t", root: "r"),
                id: "\($0)",
                parent: nil,
                name: "event",
                kind: .consumer,
                start: 0
            )
        }
    }

    private mutating func sent(at now: Timestamp) -> Int {
        guard case .send(let spans) = queue.next(now: now) else { return 0 }
        return spans.count
    }

    @Test mutating func spansGoInBatches() {
        queue.add(spans(3), now: 1_000)
        #expect(queue.next(now: 1_000) == .wait(until: 6_000))
        queue.add(spans(2), now: 3_000)
        #expect(sent(at: 6_000) == 5)
        queue.add(spans(600), now: 6_100)
        #expect(queue.next(now: 6_100) == .nothing)
        queue.finish(.taken(refused: 2), now: 6_200)
        #expect(sent(at: 6_200) == 512)
        queue.finish(.taken(refused: 0), now: 6_300)
        #expect(queue.next(now: 6_300) == .wait(until: 11_300))
        #expect(queue.counts == SpanQueue.Counts(sent: 515, dropped: 0, refused: 2))
    }

    @Test mutating func unreachableCollectorDropsSpansEventually() {
        queue.add(spans(9_000), now: 0)
        #expect(queue.counts.dropped == 9_000 - 8_192)
        var now: Timestamp = 0
        var waits: [Duration] = []
        for _ in 0..<8 {
            #expect(sent(at: now) == 512)
            queue.finish(.later(.zero), now: now)
            guard case .wait(let due) = queue.next(now: now) else { break }
            waits.append(due - now)
            now = due
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 60].map { Duration.seconds($0) })
        #expect(queue.counts.dropped == 9_000 - 8_192 + 512)
        // The loop ended when the next batch was sent.
        queue.finish(.later(.seconds(30)), now: now)
        #expect(queue.next(now: now) == .wait(until: now + .seconds(30)))
    }

    @Test mutating func refusedSpansAreNotRetried() {
        queue.add(spans(3), now: 0)
        #expect(queue.next(now: 0, isLast: true) != .nothing)
        queue.finish(.refused, now: 0)
        #expect(queue.isIdle && queue.counts.refused == 3)
    }

    @Test(arguments: [
        (200, "{}", SpanQueue.Outcome.taken(refused: 0)), (202, "", .taken(refused: 0)),
        (200, #"{"partialSuccess":{"rejectedSpans":"3"}}"#, .taken(refused: 3)),
        (200, #"{"partialSuccess":{"rejectedSpans":4,"errorMessage":"x"}}"#, .taken(refused: 4)),
        (400, "", .refused), (401, "", .refused), (429, "", .later(.zero)), (503, "", .later(.zero)),
    ])
    func responsesFollowOTLP(status: Int, body: String, outcome: SpanQueue.Outcome) {
        let response = HTTPResponse(status: status, body: Array(body.utf8))
        #expect(SpanQueue.Outcome(.success(response)) == outcome)
        #expect(SpanQueue.Outcome(.failure(HTTPError(.timeout, mayHaveBeenProcessed: true))) == .later(.zero))
    }

    @Test(arguments: [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/traces"),
        ("https://otel.example.com/base/", "https://otel.example.com/base/v1/traces"),
        ("http://[::1]:4318/v1/traces", "http://[::1]:4318/v1/traces"),
    ])
    func tracesPathIsAppended(url: String, endpoint: String) {
        #expect(TracingSettings(url: url)?.endpoint == endpoint)
    }

    @Test(arguments: ["", "127.0.0.1:4318", "grpc://x:4317", "http://user:pass@x/", "http://x/?a=1"])
    func invalidCollectorURLIsRefused(url: String) { #expect(TracingSettings(url: url) == nil) }

    @Test func headersComeFromAFile() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "headers-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try "# a comment\nAuthorization: Bearer a:b \n\nx-scope:1\n".write(
            toFile: path,
            atomically: true,
            encoding: .utf8
        )
        let fields = try CollectorHeaders.read(path)
        #expect(fields.map(\.name) == ["authorization", "x-scope"] && fields.map(\.value) == ["Bearer a:b", "1"])
        for wrong in ["no colon", ": value", "a b: c"] {
            try "secret: x\n\(wrong)".write(toFile: path, atomically: true, encoding: .utf8)
            let error = #expect(throws: CollectorHeadersError.self) { try CollectorHeaders.read(path) }
            #expect(error?.description.contains("secret") == false)
        }
        #expect(throws: CollectorHeadersError.self) { try CollectorHeaders.read(path + "-nowhere") }
    }
}
