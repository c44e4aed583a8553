import ChaosKit
import Testing

/// The short form of `contrib/bench/chaos`: what is proved depends on no speed.
@Suite(.serialized)
struct ChaosRunTests {
    @Test(arguments: [1, 20_260_301] as [UInt64])
    func everyDeliveryEndsOnceAndNoneIsLost(_ seed: UInt64) async throws {
        let plan = ChaosPlan(seed: seed, deliveries: 800)
        let record = try await ChaosRun(plan, plugins: BuiltPlugins()).run()
        let verdict = Judge.judge(record)
        let summary = Summary(record, verdict)
        #expect(verdict.failures.isEmpty, "\(summary.text)\n\(summary.complaints)")
        // A run in which nothing went wrong proves nothing.
        for row in summary.rows {
            #expect(row.attempts > row.deliveries, "\(row.transport)")
            #expect(row.injected.count > 5, "\(row.transport)")
        }
    }

    @Test(arguments: ChaosTransport.allCases)
    func aPushServiceThatHangsHoldsUpNoOther(_ transport: ChaosTransport) async throws {
        // It hangs until all others have ended; were they held up, they would never.
        var plan = ChaosPlan(seed: 7, deliveries: 240, weather: .hanging(transport))
        plan.requestTimeout = 1_000
        let record = try await ChaosRun(plan, plugins: BuiltPlugins()).run()
        let verdict = Judge.judge(record)
        #expect(verdict.failures.isEmpty, "\(Summary(record, verdict).complaints)")
        #expect(record.injected[transport]?[.silence] ?? 0 > 0)
    }
}
