/// Whether a push service that hangs delays the others. Each hangs in turn until all others are done. Their throughput
/// is compared with that of calm runs before and after.
package struct Isolation: Sendable, Codable {
    /// How fast a transport was while another hung.
    package struct Row: Sendable, Codable {
        package var hanging: ChaosTransport
        package var quiet: ChaosTransport
        /// Deliveries per second.
        package var rate: Double
        /// The slower one of the calm runs.
        package var calmRate: Double

        package var ratio: Double { calmRate > 0 ? rate / calmRate : 0 }
    }

    package private(set) var rows: [Row] = []
    package private(set) var failures: [Verdict.Failure] = []

    /// `plan` sets everything but the weather. Throws if a run could not start.
    package static func measure(_ plan: ChaosPlan, plugins: BuiltPlugins) async throws -> Isolation {
        var isolation = Isolation()
        let before = try await isolation.run(plan, .calm, plugins)
        var hung: [(ChaosTransport, Summary)] = []
        for transport in plan.transports {
            hung.append((transport, try await isolation.run(plan, .hanging(transport), plugins)))
        }
        let after = try await isolation.run(plan, .calm, plugins)
        for (transport, summary) in hung {
            for (index, row) in summary.rows.enumerated() where row.transport != transport {
                isolation.rows.append(
                    Row(
                        hanging: transport,
                        quiet: row.transport,
                        rate: row.rate,
                        calmRate: min(before.rows[index].rate, after.rows[index].rate)
                    )
                )
            }
        }
        return isolation
    }

    private mutating func run(
        _ plan: ChaosPlan,
        _ weather: ChaosPlan.Weather,
        _ plugins: BuiltPlugins
    ) async throws -> Summary {
        var plan = plan
        plan.weather = weather
        let record = try await ChaosRun(plan, plugins: plugins).run()
        let verdict = Judge.judge(record)
        failures += verdict.failures
        return Summary(record, verdict)
    }

    /// The transports whose throughput ratio is below `ratio`.
    package func slowed(below ratio: Double) -> [Row] { rows.filter { $0.ratio < ratio } }
}
