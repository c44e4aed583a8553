import Core
import Delivery
import Foundation
import Pipeline
import Push
import Registry
import RouterConfiguration
import Synchronization

/// Counts by day, optionally grouped.
package struct StatisticsReport: OperatorAnswer, JoinedAnswer, Equatable {
    package enum Division: String, Sendable, CaseIterable {
        case platform, app, mode, language
    }

    package struct Row: Codable, Sendable, Equatable {
        /// As in `2026-11-22`, in UTC.
        package var day: String
        /// The platform, app, mode or language; empty for all or unknown.
        package var name = ""
        package var matched = 0
        package var suppressed = 0
        package var delivered = 0
        package var failed = 0
        package var expired = 0
        /// The number of registered devices at the last count of that day; `nil` if not counted.
        package var devices: Int?
    }

    /// `platform`, `app`, `mode` or `language`; `nil` if not grouped.
    package var by: String?
    package var since: String
    package var until: String
    /// Sorted by day, then by name.
    package var rows: [Row]
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    package init(_ figures: [DailyFigure: Int], by division: Division?, days: ClosedRange<Int>) {
        by = division?.rawValue
        since = Self.date(days.lowerBound)
        until = Self.date(days.upperBound)
        struct Key: Hashable, Comparable {
            let day: Int
            let name: String

            static func < (left: Key, right: Key) -> Bool { (left.day, left.name) < (right.day, right.name) }
        }
        var rows: [Key: Row] = [:]
        for (figure, count) in figures where days.contains(figure.day) {
            let name =
                switch division {
                case nil: ""
                case .platform: figure.platform
                case .app: figure.app
                case .mode: figure.mode
                case .language: figure.language
                }
            let key = Key(day: figure.day, name: name)
            rows[key, default: Row(day: Self.date(figure.day), name: name)].add(figure.what, count)
        }
        self.rows = rows.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Adds up the members' counts of each day.
    static func joined(
        _ members: [(member: String, answer: StatisticsReport)],
        _ asked: MembersAsked
    ) -> StatisticsReport {
        var whole = members[0].answer
        whole.members = asked
        var rows: [[String]: Row] = [:]
        for row in members.flatMap(\.answer.rows) {
            let key = [row.day, row.name]
            guard var known = rows[key] else {
                rows[key] = row
                continue
            }
            // All members count the same devices.
            let devices = [known.devices, row.devices].compactMap(\.self).max()
            known.merge(row)
            known.devices = devices
            rows[key] = known
        }
        whole.rows = rows.values.sorted { ($0.day, $0.name) < ($1.day, $1.name) }
        return whole
    }

    package var text: String { ([table] + (members?.lines ?? [])).joined(separator: "\n") }

    private var table: String {
        guard !rows.isEmpty else { return "nothing was counted from \(since) to \(until)" }
        guard let by else { return Self.table("DAY", rows.map { ($0.day, $0) }) }
        var sums: [String: Row] = [:]
        for row in rows { sums[row.name, default: Row(day: "")].merge(row) }
        let named = sums.sorted { $0.key < $1.key }.map { ($0.key.isEmpty ? "-" : $0.key, $0.value) }
        return Self.table(by.uppercased(), named) + "\n\nfrom \(since) to \(until), devices as last counted"
    }

    /// The rows as CSV (RFC 4180) with a header.
    package var csv: String {
        let head = "day,\(by ?? "name"),devices,matched,suppressed,delivered,failed,expired"
        let lines = rows.map { row in
            let numbers = [row.matched, row.suppressed, row.delivered, row.failed, row.expired].map(String.init)
            let cells = [row.day, Self.cell(row.name), row.devices.map(String.init) ?? ""] + numbers
            return cells.joined(separator: ",")
        }
        return ([head] + lines).joined(separator: "\r\n")
    }

    private static func table(_ first: String, _ rows: [(name: String, row: Row)]) -> String {
        let head = [first, "DEVICES", "MATCHED", "SUPPRESSED", "DELIVERED", "FAILED", "EXPIRED"]
        let lines = rows.map { name, row in
            [name, row.devices.map { "\($0)" } ?? "-"]
                + [row.matched, row.suppressed, row.delivered, row.failed, row.expired].map { "\($0)" }
        }
        return TextTable.lines([head] + lines).joined(separator: "\n")
    }

    private static func cell(_ text: String) -> String {
        text.contains(where: { $0 == "," || $0 == "\"" || $0.isNewline })
            ? "\"" + text.replacing("\"", with: "\"\"") + "\"" : text
    }

    private static func date(_ day: Int) -> String {
        String(Timestamp(milliseconds: Int64(day) * 86_400_000).rfc3339.prefix(10))
    }
}

extension StatisticsReport.Row {
    fileprivate mutating func add(_ what: DailyFigure.Category, _ count: Int) {
        switch what {
        case .matched: matched += count
        case .suppressed: suppressed += count
        case .delivered: delivered += count
        case .failed: failed += count
        case .expired: expired += count
        case .devices: devices = (devices ?? 0) + count
        }
    }

    /// Adds the counts of a later day, or of another member.
    fileprivate mutating func merge(_ later: Self) {
        matched += later.matched
        suppressed += later.suppressed
        delivered += later.delivered
        failed += later.failed
        expired += later.expired
        // A later count of the same devices replaces the earlier one.
        devices = later.devices ?? devices
    }
}

/// Counts registered devices, and reports the daily counts. Reads files.
package struct StatisticsOperations: Sendable {
    /// The number of days to keep.
    package static let daysKept = 400

    private let registry: Registry
    private let outbox: OutboxReader
    /// The mode of devices that requested none; a reload may change it.
    private let defaultMode: @Sendable () -> Mode
    /// The counts that are not written yet.
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

    /// The allowed parameters are `days` and `by`. Throws an ``OperationError``.
    package func report(_ parameters: [String: String]) throws(OperationError) -> StatisticsReport {
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
            // Today's device count is taken now.
            figures = figures.filter { $0.key.day != today || $0.key.what != .devices }
            figures.merge(try devices(), uniquingKeysWith: +)
            return StatisticsReport(figures, by: division ?? nil, days: range)
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// Returns the current number of registered devices as figures of today.
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
        // Without devices, the count is an explicit zero.
        return counts.isEmpty ? [DailyFigure(day: day, .devices): 0] : counts
    }
}

extension RouterOrFiles {
    /// Returns counts by day from the running router or from its files. Throws an ``OperationError``.
    package func statistics(_ parameters: [String: String]) async throws -> StatisticsReport {
        if let answer: StatisticsReport = try await ask("GET", "/v1/stats", parameters) { return answer }
        let access = try OperatorAccess(configuration, for: .reading)
        guard FileManager.default.fileExists(atPath: configuration.store.outboxPath) else {
            throw OperationError.unreachable("there is no outbox yet: carillon serve makes it when it starts")
        }
        let operations = StatisticsOperations(
            registry: access.reader.registry,
            outbox: OutboxReader(path: configuration.store.outboxPath),
            defaultMode: { [mode = configuration.defaults.mode] in mode },
            now: Timestamp.now
        )
        return try operations.report(parameters)
    }
}

/// Daily counters in memory, until the caller writes them to disk.
package final class DailyCounts: PipelineObserver, DeliveryObserver {
    /// The maximum number of platform/app pairs. Registrations choose the names; more pairs count without a name.
    private static let maxQueues = 1_000
    /// The maximum number of languages. Registrations choose these too; more languages count without a name.
    private static let maxLanguages = 200

    private struct State {
        var figures: [DailyFigure: Int] = [:]
        var queues: Set<QueueName> = []
        var languages: Set<String> = []

        mutating func add(_ figure: DailyFigure, _ count: Int = 1) { figures[figure, default: 0] += count }
    }

    private let state = Mutex(State())
    private let language: @Sendable (DeviceID) -> String
    private let now: @Sendable () -> Timestamp

    /// `language` returns the language of a device's app; empty if unknown.
    package init(
        language: @escaping @Sendable (DeviceID) -> String = { _ in "" },
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.language = language
        self.now = now
    }

    package func record(_ counts: [PipelineStep: Int]) {
        let day = DailyFigure.day(of: now())
        let (matched, suppressed) = (Self.sum(Self.matching, counts), Self.sum(Self.suppressing, counts))
        guard matched + suppressed > 0 else { return }
        state.withLock { state in
            if matched > 0 { state.add(DailyFigure(day: day, .matched), matched) }
            if suppressed > 0 { state.add(DailyFigure(day: day, .suppressed), suppressed) }
        }
    }

    package func deliveriesReported(_ reports: [DeliveryReport]) {
        var rows: [Row] = []
        // Equal reports come in runs. Indices avoid copies of the reports, which hold many strings.
        for place in reports.indices {
            guard let what = DailyFigure.Category(reports[place].kind) else { continue }
            let language = language(reports[place].device)
            if let row = rows.last, row.what == what, row.language == language,
                reports[row.first].mode == reports[place].mode, reports[row.first].queue == reports[place].queue
            {
                rows[rows.count - 1].count += 1
            } else {
                rows.append(Row(what: what, language: language, first: place))
            }
        }
        guard !rows.isEmpty else { return }
        let day = DailyFigure.day(of: now())
        state.withLock { state in
            for row in rows {
                let queue = reports[row.first].queue
                var figure = DailyFigure(day: day, row.what, mode: reports[row.first].mode?.name ?? "")
                if state.queues.count < Self.maxQueues { state.queues.insert(queue) }
                if state.queues.contains(queue) { (figure.platform, figure.app) = (queue.platform, queue.app) }
                if state.languages.count < Self.maxLanguages { state.languages.insert(row.language) }
                if state.languages.contains(row.language) { figure.language = row.language }
                state.add(figure, row.count)
            }
        }
    }

    /// Final results of deliveries that count as one figure.
    private struct Row {
        let what: DailyFigure.Category
        let language: String
        /// The index of the first one.
        let first: Int
        var count = 1
    }

    /// Returns and resets the counts.
    package func take() -> [DailyFigure: Int] {
        state.withLock { state in
            defer { state = State() }
            return state.figures
        }
    }

    /// Adds back counts that could not be written.
    package func putBack(_ figures: [DailyFigure: Int]) {
        state.withLock { $0.figures.merge(figures, uniquingKeysWith: +) }
    }

    /// The counts that are not written yet.
    package var pending: [DailyFigure: Int] { state.withLock { $0.figures } }

    private static let matching: [PipelineStep] = [.queued, .batched]
    private static let suppressing: [PipelineStep] = [
        .dropped, .filtered, .unwanted, .withheld, .silent, .beforeRegistration,
    ]

    private static func sum(_ steps: [PipelineStep], _ counts: [PipelineStep: Int]) -> Int {
        steps.reduce(0) { $0 + (counts[$1] ?? 0) }
    }
}

extension DailyFigure.Category {
    fileprivate init?(_ kind: DeliveryReport.Kind) {
        switch kind {
        case .delivered: self = .delivered
        case .gone, .rejected: self = .failed
        case .expired: self = .expired
        case .retry, .reduced, .misconfigured, .postponed, .requeued, .unregistered, .moved, .unreadable, .discarded,
            .deleted:
            return nil
        }
    }
}

extension Array {
    /// Splits the array into runs of equal neighbors. `areAlike` takes indices, because elements are large. Each
    /// element is compared with the first of its run.
    func rows(where areAlike: (Int, Int) -> Bool) -> [Range<Int>] {
        var rows: [Range<Int>] = []
        var start = startIndex
        for place in indices where !areAlike(start, place) {
            rows.append(start..<place)
            start = place
        }
        if start < endIndex { rows.append(start..<endIndex) }
        return rows
    }
}
