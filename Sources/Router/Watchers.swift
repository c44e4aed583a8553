import Core
import Delivery
import HTTPClient
import Logging
import NIOCore
import Observability
import Operations
import Pipeline
import Registry
import RouterConfiguration
import Storage

/// The observers of all steps of events and outcomes of pushes: log, metrics, trace, spans, live stream and webhooks.
struct Watchers: RouterPart {
    let trials: TokenTrials
    let spans: Spans
    let stream: LiveStream
    let operationalEvents: OperationalEvents
    /// The counts of each day, and the part that stores them.
    let statistics: StatisticsOperations
    let statisticsKeeper: StatisticsKeeper
    let all: RouterObservers

    /// Throws `Diagnostics` if files with headers or webhook secrets cannot be used.
    init(
        _ environment: RouterEnvironment,
        settings: ActiveSettings,
        stores: Stores,
        outgoing: Outgoing,
        _ counts: RouterCounts
    ) throws {
        let (configuration, log, now) = (environment.configuration, environment.log, environment.now)
        let logger = environment.logger
        let registry = stores.registry
        let daily = DailyCounts(language: { (try? registry.language(of: $0)) ?? "" }, now: now)
        trials = TokenTrials(now: now)
        spans = try Spans(environment, seeds: registry.keys.seeds, sender: outgoing.lanes)
        let stream = LiveStream(
            readers: configuration.api?.streamReaders ?? Configuration.API.defaultStreamReaders,
            device: { try? registry.listing(of: $0) },
            now: now,
            later: { [loop = outgoing.lowLoops.stream] in
                loop.scheduleTask(in: TimeAmount($0), $1)
            }
        )
        self.stream = stream
        operationalEvents = try configuration.environment.inItsWords {
            try OperationalEvents(
                configuration.operationalEvents,
                path: configuration.store.webhooksPath,
                stream: stream,
                sender: outgoing.lanes,
                now: now,
                logger: logger
            )
        }
        statistics = StatisticsOperations(
            registry: registry,
            outbox: OutboxReader(path: configuration.store.outboxPath),
            defaultMode: { settings.configuration.defaults.mode },
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

    /// Writes the last counts. Call it after the courier has stopped.
    func stop(_ time: StopBudget) {
        statisticsKeeper.write(withDevices: true)
        operationalEvents.close()
    }
}

/// All observers of events and deliveries, called in this order on the caller's thread.
package struct RouterObservers: Sendable {
    let pipeline: [any PipelineObserver]
    let deliveries: [any DeliveryObserver]

    /// These observers, with another observer of deliveries first.
    package func adding(_ observer: any DeliveryObserver) -> RouterObservers {
        RouterObservers(pipeline: pipeline, deliveries: [observer] + deliveries)
    }
}

extension RouterObservers: PipelineObserver {
    package func record(_ counts: [PipelineStep: Int]) {
        for observer in pipeline { observer.record(counts) }
    }

    package func filtered(_ counts: [String: Int]) {
        for observer in pipeline { observer.filtered(counts) }
    }

    package func leftOut(_ counts: [RuleValue: Int]) {
        for observer in pipeline { observer.leftOut(counts) }
    }

    package func trace(_ steps: [TraceStep], at time: Timestamp) {
        for observer in pipeline { observer.trace(steps, at: time) }
    }
}

extension RouterObservers: DeliveryObserver {
    package func deliveriesReported(_ reports: [DeliveryReport]) {
        for observer in deliveries { observer.deliveriesReported(reports) }
    }

    package func attemptsBegan(_ attempts: [AttemptStart]) {
        for observer in deliveries { observer.attemptsBegan(attempts) }
    }

    package func deliveriesPostponed(_ reports: [DeliveryReport]) {
        for observer in deliveries { observer.deliveriesPostponed(reports) }
    }

    package func queuePaused(_ pause: QueuePause) {
        for observer in deliveries { observer.queuePaused(pause) }
    }

    package func queueResumed(_ queue: QueueName) {
        for observer in deliveries { observer.queueResumed(queue) }
    }

    package func outboxFailed(_ error: any Error) {
        for observer in deliveries { observer.outboxFailed(error) }
    }

    package func outboxRecovered() {
        for observer in deliveries { observer.outboxRecovered() }
    }
}

/// Reports the ends of deliveries to the pipeline.
package struct PaceFeedback: DeliveryObserver {
    let intake: Intake
    let now: @Sendable () -> Timestamp

    package init(intake: Intake, now: @escaping @Sendable () -> Timestamp) { (self.intake, self.now) = (intake, now) }

    package func deliveriesReported(_ reports: [DeliveryReport]) {
        intake.ended(CompletedPush.all(of: reports, at: now()))
    }
}

/// Exports the processing of events as spans to a collector, if the configuration names one.
struct Spans: RouterPart {
    /// Nil: telemetry is neither exported nor recorded.
    let tracer: Tracer?

    /// Throws `Diagnostics` if the file with headers cannot be used.
    init(_ environment: RouterEnvironment, seeds: KeySeeds, sender: any HTTPSender) throws {
        let configuration = environment.configuration
        guard var settings = configuration.tracing.settings, let ids = try configuration.traceIDs(seeds) else {
            tracer = nil
            return
        }
        settings.version = Version.current
        do throws(CollectorHeadersError) {
            tracer = try Tracer(
                settings,
                ids: ids,
                sender: sender,
                now: environment.now,
                logger: environment.logger
            )
        } catch {
            let place = configuration.tracing.place
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

    /// Sends the spans that have ended by now.
    func stop(_ time: StopBudget) async { await tracer?.finish(within: time.part(10)) }
}

/// Writes the daily counts once a minute and at the end; counts the devices once an hour.
final class StatisticsKeeper: Sendable {
    private static let minutesBetweenCensuses = 60

    private let counts: DailyCounts
    private let statistics: StatisticsOperations
    private let outbox: Outbox
    private let now: @Sendable () -> Timestamp
    private let logger: Logger

    init(
        counts: DailyCounts,
        statistics: StatisticsOperations,
        outbox: Outbox,
        now: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.counts = counts
        self.statistics = statistics
        self.outbox = outbox
        self.now = now
        self.logger = logger
    }

    /// Writes the counts until the task is cancelled.
    func run() async {
        var minute = 0
        while (try? await Task.sleep(for: .seconds(60))) != nil {
            let countsDevices = minute % Self.minutesBetweenCensuses == 0
            await onDisk { self.write(withDevices: countsDevices) }
            minute += 1
        }
    }

    /// Failed writes are retried the next time.
    func write(withDevices: Bool) {
        let figures = counts.take()
        guard withDevices || !figures.isEmpty else { return }
        do {
            let oldest = DailyFigure.day(of: now()) - StatisticsOperations.daysKept + 1
            try StatisticsStore(outbox).add(
                figures,
                replaced: withDevices ? try statistics.devices() : [:],
                oldest: oldest
            )
        } catch {
            counts.putBack(figures)
            logger.warning("Failed to save the day's counts; retrying", metadata: ["error": "\(error)"])
        }
    }
}
