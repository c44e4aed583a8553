import Delivery
import Logging
import Operations
import Units

/// Writes down what is counted by day: once a minute, and at the end. The devices are counted once an hour.
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

    /// Until the task is cancelled.
    func run() async {
        var minute = 0
        while (try? await Task.sleep(for: .seconds(60))) != nil {
            let isCensus = minute % Self.minutesBetweenCensuses == 0
            await onDisk { self.write(withDevices: isCensus) }
            minute += 1
        }
    }

    /// What cannot be written is tried again the next time.
    func write(withDevices: Bool) {
        let figures = counts.take()
        guard withDevices || !figures.isEmpty else { return }
        do {
            let oldest = DailyFigure.day(of: now()) - StatisticsOperations.daysKept + 1
            try outbox.add(figures, replaced: withDevices ? try statistics.devices() : [:], oldest: oldest)
        } catch {
            counts.putBack(figures)
            logger.warning("The counts of the day cannot be written; trying again", metadata: ["error": "\(error)"])
        }
    }
}
