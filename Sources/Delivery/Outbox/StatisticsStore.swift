import Core
import GRDB

/// The key of a daily count: day, category, platform, app, mode and language. It has no data about users.
package struct DailyFigure: Hashable, Sendable {
    package enum Category: String, Sendable, Hashable, CaseIterable {
        /// The number of notifications for devices, including batched ones.
        case matched
        /// The number of notifications that a rule, a filter or the device's settings prevented.
        case suppressed
        /// Pushes that a push service accepted.
        case delivered
        /// Pushes that were refused permanently, and those for devices that are gone.
        case failed
        /// Pushes that expired.
        case expired
        /// Registered devices at the last count.
        case devices
    }

    /// The UTC day, counted from 1970.
    package var day: Int
    package var what: Category
    /// Empty if it is unknown or does not matter; the same applies to the fields below.
    package var platform = ""
    package var app = ""
    package var mode = ""
    package var language = ""

    package init(
        day: Int,
        _ what: Category,
        platform: String = "",
        app: String = "",
        mode: String = "",
        language: String = ""
    ) {
        self.day = day
        self.what = what
        self.platform = platform
        self.app = app
        self.mode = mode
        self.language = language
    }

    /// The UTC day of `moment`, counted from 1970.
    package static func day(of moment: Timestamp) -> Int { Int(moment.milliseconds / 86_400_000) }
}

/// The store of daily counts, in the outbox's file.
package struct StatisticsStore: Sendable {
    private let outbox: Outbox

    package init(_ outbox: Outbox) { self.outbox = outbox }

    /// Adds to the counts. `replaced` replaces all counts with the same day and subject. Deletes days before `oldest`.
    package func add(_ figures: [DailyFigure: Int], replaced: [DailyFigure: Int], oldest: Int) throws {
        try outbox.writeUnflushed { try Self.add(figures, replaced: replaced, oldest: oldest, $0) }
    }

    private static func add(
        _ figures: [DailyFigure: Int],
        replaced: [DailyFigure: Int],
        oldest: Int,
        _ database: Database
    ) throws {
        for pair in Set(replaced.keys.map { Pair(day: $0.day, what: $0.what) }) {
            try database.execute(
                sql: "DELETE FROM outbox_figure WHERE day = ? AND what = ?",
                arguments: [pair.day, pair.what.rawValue]
            )
        }
        let upsert = try database.cachedStatement(
            sql: """
                INSERT INTO outbox_figure VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT DO UPDATE SET count = count + excluded.count
                """
        )
        for (figure, count) in [figures, replaced].joined() {
            try upsert.execute(arguments: [
                figure.day, figure.what.rawValue, figure.platform, figure.app, figure.mode, figure.language, count,
            ])
        }
        try database.execute(sql: "DELETE FROM outbox_figure WHERE day < ?", arguments: [oldest])
    }

    private struct Pair: Hashable {
        let day: Int
        let what: DailyFigure.Category
    }

    static func all(since day: Int, _ database: Database) throws -> [DailyFigure: Int] {
        var figures: [DailyFigure: Int] = [:]
        let rows = try Row.fetchCursor(database, sql: "SELECT * FROM outbox_figure WHERE day >= ?", arguments: [day])
        while let row = try rows.next() {
            guard let what = DailyFigure.Category(rawValue: row["what"]) else { continue }
            let figure = DailyFigure(
                day: row["day"],
                what,
                platform: row["platform"],
                app: row["app"],
                mode: row["mode"],
                language: row["language"]
            )
            figures[figure] = row["count"]
        }
        return figures
    }
}
