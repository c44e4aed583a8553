import Registry
import RelayPool

/// Gathers what relays are to be told, and tells them many things at a time.
struct WatchAnnouncer {
    private var changes: [RelayURL: [WatchChange]] = [:]
    private let operators: Set<RelayURL>
    private let relays: any RelayWatching
    /// Changes at one relay that are not held back any longer.
    private let most: Int
    private let mark: (RelayURL) -> Int64?

    /// `mark` says up to when everything was dealt with that a relay had for its established keys.
    init(
        _ relays: any RelayWatching,
        operators: Set<RelayURL>,
        most: Int = .max,
        mark: @escaping (RelayURL) -> Int64?
    ) {
        self.relays = relays
        self.operators = operators
        self.most = most
        self.mark = mark
    }

    mutating func add(_ change: WatchChange, at relay: RelayURL) {
        changes[relay, default: []].append(change)
        if changes[relay, default: []].count >= most { tell(relay) }
    }

    /// Tells what was not told yet, the operator's relays first.
    mutating func finish() {
        let (first, then) = (changes.keys.filter(operators.contains), changes.keys.filter { !operators.contains($0) })
        for relay in first.sorted() + then.sorted() { tell(relay) }
    }

    private mutating func tell(_ relay: RelayURL) {
        guard var told = changes.removeValue(forKey: relay) else { return }
        if let mark = mark(relay) {
            // A relay that is connected already reads for each further key from the key's own moment on, and not from
            // the mark.
            for index in told.indices {
                guard case .put(var watched) = told[index], watched.isEstablished else { continue }
                watched.since = max(watched.since, mark - Self.margin)
                told[index] = .put(watched)
            }
        }
        relays.update(relay, told, isOperators: operators.contains(relay))
    }

    /// How much before a mark may concern a key, since clocks differ and events travel; in seconds.
    private static let margin: Int64 = 3_600
}
