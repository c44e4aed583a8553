import Registry
import RelayPool

/// Gathers what relays are to be told, and tells them many things at a time.
struct WatchAnnouncer {
    private var changes: [RelayURL: [WatchChange]] = [:]
    private let operators: Set<RelayURL>
    private let relays: any RelayWatching

    init(_ relays: any RelayWatching, operators: Set<RelayURL>) {
        self.relays = relays
        self.operators = operators
    }

    mutating func add(_ change: WatchChange, at relay: RelayURL) {
        changes[relay, default: []].append(change)
        guard changes[relay, default: []].count >= Self.most else { return }
        tell(relay)
    }

    /// Tells what was not told yet, the operator's relays first.
    mutating func finish() {
        for relay in changes.keys.sorted(by: {
            (operators.contains($0) ? 0 : 1, $0) < (operators.contains($1) ? 0 : 1, $1)
        }) {
            tell(relay)
        }
    }

    private mutating func tell(_ relay: RelayURL) {
        guard let told = changes.removeValue(forKey: relay), !told.isEmpty else { return }
        relays.update(relay, told, isOperators: operators.contains(relay))
    }

    private static let most = 4_096
}
