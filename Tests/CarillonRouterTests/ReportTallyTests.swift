import Core
import Delivery
import DeliveryTestSupport
import Logging
import Push
import Synchronization
import Testing
import TimeTestSupport

@testable import CarillonRouter

@Suite struct ReportTallyTests {
    private func report(
        _ device: Int64 = 1,
        _ kind: DeliveryReport.Kind = .rejected,
        status: UInt32 = 405,
        reason: String = "other"
    ) -> DeliveryReport {
        DeliveryReport(
            delivery: "d",
            device: DeviceID(rawValue: device),
            queue: QueueName(platform: "unifiedpush", app: "default"),
            kind: kind,
            status: status,
            reason: reason,
            attempt: 1
        )
    }

    @Test func fewReportsPerKindAreLoggedAndTheRestSummarizedPerMinute() {
        var tally = ReportTally()
        var inFull = 0
        var gathered: [Int] = []
        for second in 0..<180 {
            let now = Timestamp(seconds: Int64(second))
            for device in 0..<100 { inFull += tally.add(report(Int64(device)), now: now) ? 1 : 0 }
            gathered += tally.takeDue(now: now).values
        }
        #expect(inFull == 5)
        #expect(gathered == [6_095, 6_000])
        // Its end is reported, and the next reports are complete.
        #expect(tally.takeDue(now: 180_000).values.first == 5_900)
        let afterwards = tally.takeDue(now: 240_000)
        #expect(afterwards.isEmpty && tally.isEmpty)
        let isToldAgain = tally.add(report(), now: 240_000)
        #expect(isToldAgain)
    }

    @Test func reportKindsAreLimitedSeparately() {
        var tally = ReportTally()
        for _ in 0..<100 { _ = tally.add(report(), now: 0) }
        let others = [report(status: 404), report(1, .retry), report(reason: "forbidden")].map { tally.add($0, now: 1) }
        #expect(others == [true, true, true])
    }

    @Test func excessReasonsAreOneKind() {
        var tally = ReportTally()
        var inFull = 0
        for number in 0..<10_000 { inFull += tally.add(report(reason: "word-\(number)"), now: 0) ? 1 : 0 }
        #expect(inFull == 505)
    }

    @Test func clockThatJumpsBackSuppressesNoReport() {
        var tally = ReportTally()
        for _ in 0..<10 { _ = tally.add(report(), now: 1_000_000) }
        #expect(tally.takeDue(now: 10).values.first == 5)
    }

    /// Without a limit, 1,499 events for 32 devices at a rejected address make 47,968 lines.
    @Test func theLogHasAFewLinesAMinute() {
        let kept = LineRecorder.Kept()
        let time = ManualTime()
        let log = RouterLog(
            logger: Logger(label: "test") { _ in LineRecorder(kept: kept) },
            now: { time.now },
            alarm: time
        )
        for event in 0..<1_499 {
            time.now = Timestamp(milliseconds: Int64(event) * 40)
            log.deliveriesReported((1...32).map { report($0, status: 0, reason: "forbidden-address") })
        }
        time.now = 180_000
        let lines = kept.lines.withLock(\.self)
        #expect(lines.count { $0.hasPrefix("Delivery ") } == 5)
        let gathered = lines.filter { $0.hasPrefix("More deliveries like these ") }
        #expect(gathered.count == 1 && gathered[0].contains("count=47963"))
        #expect(gathered.first?.contains("reason=forbidden-address") == true)
        time.now = 240_000
        #expect(time.isIdle)
    }
}

/// Records lines at level notice and above.
private struct LineRecorder: LogHandler {
    final class Kept: Sendable {
        let lines = Mutex<[String]>([])
    }

    let kept: Kept
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.notice

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
        kept.lines.withLock { $0.append("\(event.message) \(fields)") }
    }
}

/// Rings when its time is set.
private final class ManualTime: Alarm {
    private let state = Mutex<(now: Timestamp, rings: [(Timestamp, @Sendable () -> Void)])>((.epoch, []))

    var now: Timestamp {
        get { state.withLock { $0.now } }
        set {
            let due = state.withLock { state in
                state.now = newValue
                let due = state.rings.filter { $0.0 <= newValue }
                state.rings.removeAll { $0.0 <= newValue }
                return due.map(\.1)
            }
            for ring in due { ring() }
        }
    }

    var isIdle: Bool { state.withLock { $0.rings.isEmpty } }

    func ring(at time: Timestamp, _ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.rings.append((time, action)) }
    }
}
