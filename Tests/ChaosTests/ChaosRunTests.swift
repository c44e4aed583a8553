import ChaosKit
import CostTestSupport
import Testing

/// The short form of `contrib/bench/chaos`: its proofs do not depend on speed.
@Suite(.serialized)
struct ChaosRunTests {
    private static let plugins = Result { try BuiltPlugins() }

    @Test(arguments: [1, 20_260_301] as [UInt64])
    func everyDeliveryEndsOnceAndNoneIsLost(_ seed: UInt64) async throws {
        let plan = Self.plan(seed, deliveries: TestLength.rounds(200, long: 500), .chaos)
        let record = try await ChaosRun(plan, plugins: Self.plugins.get()).run()
        let verdict = Judge.judge(record)
        let summary = Summary(record, verdict)
        #expect(verdict.failures.isEmpty, "\(summary.text)\n\(summary.complaints)")
        // A run without failures proves nothing.
        for row in summary.rows {
            #expect(row.attempts > row.deliveries, "\(row.transport)")
            #expect(row.injected.values.reduce(0, +) > 5, "\(row.transport)")
        }
    }

    @Test(arguments: ChaosTransport.allCases)
    func aPushServiceThatHangsHoldsUpNoOther(_ transport: ChaosTransport) async throws {
        // It hangs until all others have ended. If it held them up, they would never end.
        let plan = Self.plan(7, deliveries: 48, .hanging(transport))
        let record = try await ChaosRun(plan, plugins: Self.plugins.get()).run()
        let verdict = Judge.judge(record)
        #expect(verdict.failures.isEmpty, "\(Summary(record, verdict).complaints)")
        #expect(record.injected[transport]?[.silence] ?? 0 > 0)
    }

    /// A plan for busy machines: few requests at a time, and long timeouts.
    private static func plan(_ seed: UInt64, deliveries: Int, _ weather: ChaosPlan.Weather) -> ChaosPlan {
        var plan = ChaosPlan(seed: seed, deliveries: deliveries, weather: weather)
        plan.inFlight = 8
        plan.requestTimeout = 2_500
        return plan
    }
}
