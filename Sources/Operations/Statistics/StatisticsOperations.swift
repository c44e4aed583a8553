import Delivery
import Foundation
import Notifications
import Registry
import RouterConfiguration
import Units

/// Counts registered devices, and answers what was counted by day. Reads files.
package struct StatisticsOperations: Sendable {
    /// So many days are kept.
    package static let daysKept = 400

    private let registry: Registry
    private let outbox: OutboxReader
    /// What a device gets that asked for no mode; a reload may change it.
    private let defaultMode: @Sendable () -> Mode
    /// What is counted and not written yet.
    private let pending: @Sendable () -> [DailyFigure: Int]
    private let now: @Sendable () -> Timestamp

    package init(
        registry: Registry,
        outbox: OutboxReader,
        defaultMode: @escaping @Sendable () -> Mode,
        pending: @escaping @Sendable () -> [DailyFigure: Int] = { [:] },
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        self.outbox = outbox
        self.defaultMode = defaultMode
        self.pending = pending
        self.now = now
    }

    /// `days` and `by` are what may be asked. Throws an ``OperationFailure``.
    package func report(_ parameters: [String: String]) throws(OperationFailure) -> StatisticsReport {
        if let unknown = parameters.keys.sorted().first(where: { $0 != "days" && $0 != "by" }) {
            throw .invalid("\(unknown): expected days or by")
        }
        let days = parameters["days"].map { Int($0) } ?? 7
        guard let days, (1...Self.daysKept).contains(days) else {
            throw .invalid("days: expected a number from 1 to \(Self.daysKept)")
        }
        let division = parameters["by"].map { StatisticsReport.Division(rawValue: $0) }
        if case .some(nil) = division { throw .invalid("by: expected platform, app, mode or language") }
        let today = DailyFigure.day(of: now())
        let range = (today - days + 1)...today
        do {
            var figures = try outbox.figures(since: range.lowerBound)
            figures.merge(pending(), uniquingKeysWith: +)
            // As they are at this moment.
            figures = figures.filter { $0.key.day != today || $0.key.what != .devices }
            figures.merge(try devices(), uniquingKeysWith: +)
            return StatisticsReport(figures, by: division ?? nil, days: range)
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// How many devices are registered now, as figures of today.
    package func devices() throws -> [DailyFigure: Int] {
        let day = DailyFigure.day(of: now())
        let usual = defaultMode()
        var counts: [DailyFigure: Int] = [:]
        for some in try registry.deviceCounts() {
            let figure = DailyFigure(
                day: day,
                .devices,
                platform: some.route.platform,
                app: some.route.app,
                mode: (some.mode ?? usual).name,
                language: some.language
            )
            counts[figure, default: 0] += some.count
        }
        // Zero is an answer, too.
        return counts.isEmpty ? [DailyFigure(day: day, .devices): 0] : counts
    }
}

/// The way of the command to the counts: the running router's API, else the files of a stopped one.
package struct StatisticsAccess {
    private let configuration: Configuration

    package init(configuration: Configuration) {
        self.configuration = configuration
    }

    /// Throws an ``OperationFailure``.
    package func report(_ parameters: [String: String]) async throws -> StatisticsReport {
        let router = RouterOrFiles(configuration: configuration)
        if let answer: StatisticsReport = try await router.ask("GET", "/v1/stats", parameters) { return answer }
        let access = try OperatorAccess(configuration, for: .reading)
        guard FileManager.default.fileExists(atPath: configuration.outboxPath) else {
            throw OperationFailure.unreachable("there is no outbox yet: carillon serve makes it when it starts")
        }
        let operations = StatisticsOperations(
            registry: access.operations.registry,
            outbox: OutboxReader(path: configuration.outboxPath),
            defaultMode: { [mode = configuration.defaultMode] in mode },
            now: Timestamp.now
        )
        return try operations.report(parameters)
    }
}
