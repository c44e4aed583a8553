import HTTPLanes
import Logging
import Operations
import Registry
import RouterConfiguration
import Telemetry
import Units
import YAMLReading

/// Exports the way of events to a collector, where the configuration names one.
struct Spans: RouterPart {
    /// Nil: nothing is exported, and nothing is recorded for it.
    let tracer: Tracer?

    /// Throws `Diagnostics` for a file of headers that cannot be used.
    init(
        _ configuration: Configuration,
        seeds: KeySeeds,
        sender: any HTTPSender,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        guard let settings = configuration.tracing, let ids = try configuration.traceIDs(seeds) else {
            tracer = nil
            return
        }
        do throws(CollectorHeadersError) {
            tracer = try Tracer(
                settings,
                ids: ids,
                version: Version.current,
                sender: sender,
                now: now,
                logger: logger
            )
        } catch {
            let place = configuration.tracingPlace
            throw Diagnostics([
                Diagnostic(
                    file: configuration.file ?? "",
                    line: place.line,
                    column: place.column,
                    message: "tracing.headers_file: \(error)"
                )
            ])
        }
    }

    /// What has ended by now still goes to the collector.
    func stop(_ time: StopBudget) async { await tracer?.finish(within: time.part(10)) }
}
