import Core
import Delivery
import Foundation
import Push
import Registry
import RouterConfiguration

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
        guard FileManager.default.fileExists(atPath: configuration.outboxPath) else {
            throw OperationError.unreachable("there is no outbox yet: carillon serve makes it when it starts")
        }
        let operations = StatisticsOperations(
            registry: access.reader.registry,
            outbox: OutboxReader(path: configuration.outboxPath),
            defaultMode: { [mode = configuration.defaults.mode] in mode },
            now: Timestamp.now
        )
        return try operations.report(parameters)
    }
}
