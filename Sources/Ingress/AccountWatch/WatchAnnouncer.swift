import Registry
import RelayPool
import Units

/// Collects changes for relays, and sends each relay many at a time.
struct WatchAnnouncer {
    private var changes: [RelayURL: [WatchChange]] = [:]
    private let operators: Set<RelayURL>
    private let relays: any RelayWatching
    /// Once there are so many changes for a relay, they are sent.
    private let most: Int
    private let mark: (RelayURL) -> Int64?
    private let reads: (RelayURL) -> Bool

    /// `mark` returns up to when everything that a relay had for its established keys was dealt with. Only relays that
    /// this process `reads` are told.
    init(
        _ relays: any RelayWatching,
        operators: Set<RelayURL>,
        most: Int = .max,
        mark: @escaping (RelayURL) -> Int64?,
        reads: @escaping (RelayURL) -> Bool
    ) {
        self.relays = relays
        self.operators = operators
        self.most = most
        self.mark = mark
        self.reads = reads
    }

    mutating func add(_ change: WatchChange, at relay: RelayURL) {
        guard reads(relay) else { return }
        changes[relay, default: []].append(change)
        if changes[relay, default: []].count >= most { tell(relay) }
    }

    /// Sends what was not sent yet, to the operator's relays first.
    mutating func finish() {
        let (first, then) = (changes.keys.filter(operators.contains), changes.keys.filter { !operators.contains($0) })
        for relay in first.sorted() + then.sorted() { tell(relay) }
    }

    private mutating func tell(_ relay: RelayURL) {
        guard var told = changes.removeValue(forKey: relay) else { return }
        if let mark = mark(relay) {
            // For a key that is added while connected, a relay is read from the key's own moment, not from the mark.
            for index in told.indices {
                guard case .put(var watched) = told[index], watched.isEstablished else { continue }
                watched.since = max(watched.since, mark - Self.margin.seconds)
                told[index] = .put(watched)
            }
        }
        relays.update(relay, told, isOperators: operators.contains(relay))
    }

    /// Events this much before a mark may be new for a key, since clocks differ and events travel.
    private static let margin: Duration = .hours(1)
}
