import ArgumentParser
import ChaosKit
import Foundation

/// Runs thousands of deliveries over all transports while the push services misbehave in every way. Proves that each
/// ended once, none was lost, and every repeat was necessary: `contrib/bench/chaos/run`.
@main
struct ChaosBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ChaosBench",
        abstract: "Delivers while push services misbehave, and proves that nothing is lost or ends twice."
    )

    @Option(help: "Deliveries, over all transports.")
    var deliveries = 20_000

    @Option(help: "What everything is drawn from; a new one by default.")
    var seed: UInt64?

    @Option(help: "Which transports take part, with commas between: apns, fcm, webpush, unifiedpush.")
    var transports = ChaosTransport.allCases.map(\.rawValue).joined(separator: ",")

    @Option(help: "Deliveries of each run that shows that a push service that hangs slows no other; 0: none are made.")
    var isolation = 4_000

    @Option(help: "What a transport must keep of its throughput while another one hangs.")
    var least = 0.5

    @Option(help: "Attempts under way at a time for each transport.")
    var inFlight = 64

    @Option(help: "How long a request may take, in milliseconds; slow machines need more.")
    var timeout: UInt32 = 2_000

    @Flag(help: "Prints JSON.")
    var json = false

    func run() async throws {
        let chosen = try transports.split(separator: ",").map { word in
            guard let transport = ChaosTransport(rawValue: String(word)) else {
                throw ValidationError("\"\(word)\" is no transport: expected apns, fcm, webpush or unifiedpush")
            }
            return transport
        }
        guard !chosen.isEmpty, Set(chosen).count == chosen.count, deliveries > 0, isolation >= 0 else {
            throw ValidationError("expected at least one transport, each once, and at least one delivery")
        }
        let plugins = try BuiltPlugins()
        let seed = seed ?? UInt64.random(in: 1...UInt64(UInt32.max))
        note("seed \(seed)")
        var plan = ChaosPlan(seed: seed, deliveries: deliveries, transports: chosen)
        plan.inFlight = inFlight
        plan.requestTimeout = timeout
        let ticker = Ticker(every: 5) { note($0) }
        let record = try await ChaosRun(plan, plugins: plugins) { ticker.tick($0, of: $1) }.run()
        let summary = Summary(record, Judge.judge(record))
        var isolation: Isolation?
        if self.isolation > 0, chosen.count > 1 {
            note("chaos is over; now calm, and one hanging at a time")
            plan.deliveries = self.isolation
            isolation = try await Isolation.measure(plan, plugins: plugins)
        }
        try print(json ? Findings(chaos: summary, isolation: isolation).json() : text(summary, isolation))
        let slowed = isolation?.slowed(below: least) ?? []
        guard summary.failures.isEmpty, isolation?.failures.isEmpty ?? true, slowed.isEmpty else {
            note(
                "not all was proved; to repeat this: --seed \(seed) --deliveries \(deliveries) --transports \(transports)"
            )
            throw ExitCode.failure
        }
    }

    private func text(_ summary: Summary, _ isolation: Isolation?) -> String {
        var lines = [summary.text, "", summary.complaints]
        if let isolation {
            lines += ["", "while another hangs, against calm runs in which none does:"]
            lines += isolation.rows.map { row in
                let figures = String(format: "%.0f/s, calm %.0f/s, ratio %.2f", row.rate, row.calmRate, row.ratio)
                let mark = row.ratio < least ? "  SLOWED DOWN" : ""
                return "    \(row.hanging.rawValue) hangs: \(row.quiet.rawValue) \(figures)\(mark)"
            }
            lines += isolation.failures.prefix(20).map { "    NOT PROVED: \($0.proof.rawValue): \($0.text)" }
        }
        return lines.joined(separator: "\n")
    }

    /// Writes to standard error, so that standard output is the result.
    private func note(_ line: String) {
        FileHandle.standardError.write(Data((line + "\n").utf8))
    }
}
