/// How much is kept of what became of events.
package struct TraceLimits: Sendable, Hashable {
    package static let rowRange = 1_000...100_000_000
    package static let dayRange = 1...365

    /// Entries at most; the oldest tenth goes for newer ones.
    package var rows: Int
    /// How long an entry is kept at most.
    package var days: Int

    package init(rows: Int = 500_000, days: Int = 7) {
        self.rows = rows
        self.days = days
    }

    /// The same in milliseconds.
    package var age: Int64 { Int64(days) * 86_400_000 }
}
