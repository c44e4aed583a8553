import Delivery
import Logging
import NIOCore
import Operations
import Registry
import RouterConfiguration
import Units

/// Those that learn of each step of an event and each outcome of a push: the log, the counts, the trace, the spans, who
/// reads the live stream, and webhooks.
struct Watchers: RouterPart {
    let counts: RouterCounts
    let trials: TokenTrials
    let spans: Spans
    let stream: LiveStream
    let operationalEvents: OperationalEvents
    /// The counts of each day, and who writes them down.
    let statistics: StatisticsOperations
    let statisticsKeeper: StatisticsKeeper
    let all: RouterObservers

    /// Throws `Diagnostics` for files of headers and of webhooks' secrets that cannot be used.
    init(
        _ configuration: Configuration,
        settings: ActiveSettings,
        stores: Stores,
        outgoing: Outgoing,
        log: RouterLog,
        counts: RouterCounts,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) throws {
        let registry = stores.registry
        let daily = DailyCounts(language: { (try? registry.language(of: $0)) ?? "" }, now: now)
        self.counts = counts
        trials = TokenTrials(now: now)
        spans = try Spans(
            configuration,
            seeds: registry.keys.seeds,
            sender: outgoing.lanes,
            now: now,
            logger: logger
        )
        let stream = LiveStream(
            readers: configuration.api?.streamReaders ?? Configuration.API.defaultStreamReaders,
            device: { try? registry.listing(of: $0) },
            now: now,
            later: { [loop = outgoing.lowLoops.stream] in
                loop.scheduleTask(in: TimeAmount($0), $1)
            }
        )
        self.stream = stream
        operationalEvents = try configuration.inItsWords {
            try OperationalEvents(
                configuration.operationalEvents,
                path: configuration.webhooksPath,
                stream: stream,
                sender: outgoing.lanes,
                now: now,
                logger: logger
            )
        }
        statistics = StatisticsOperations(
            registry: registry,
            outbox: OutboxReader(path: configuration.outboxPath),
            defaultMode: { settings.configuration.defaultMode },
            pending: { daily.pending },
            now: now
        )
        statisticsKeeper = StatisticsKeeper(
            counts: daily,
            statistics: statistics,
            outbox: stores.outbox,
            now: now,
            logger: logger
        )
        all = RouterObservers(
            pipeline: [log, counts, daily, stream]
                + (stores.trace.map { [$0] } ?? []) + (spans.tracer.map { [$0] } ?? []),
            deliveries: [log, counts, daily, trials, stream, operationalEvents]
                + (stores.trace.map { [$0] } ?? []) + (spans.tracer.map { [$0] } ?? [])
        )
    }

    /// Writes the last counts, as the courier has stopped.
    func stop(_ time: StopBudget) {
        statisticsKeeper.write(withDevices: true)
        operationalEvents.close()
    }
}
