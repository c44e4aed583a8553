import Registry

/// How many rows there are.
struct WatchCensus {
    private(set) var rows: [RelayNumber: Int] = [:]
    /// Those that have a key watched which is not its owner's.
    private(set) var claims = 0

    mutating func count(_ row: WatchRow) {
        rows[row.relay, default: 0] += 1
        if row.key != row.owner { claims += 1 }
    }
}
