import Core
import Nostr
import Registry

/// Collects changes for relays, and sends them to each relay in batches.
struct WatchAnnouncer {
    private var changes: [RelayURL: [WatchChange]] = [:]
    private let operators: Set<RelayURL>
    private let relays: any RelayWatching
    /// The batch size.
    private let most: Int
    private let mark: (RelayURL) -> Int64?
    private let reads: (RelayURL) -> Bool

    /// `mark` returns the second up to which all events of a relay for its established keys were processed. Only relays
    /// that this process `reads` receive changes.
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

    /// Sends all pending changes, to the operator's relays first.
    mutating func finish() {
        let (first, then) = (changes.keys.filter(operators.contains), changes.keys.filter { !operators.contains($0) })
        for relay in first.sorted() + then.sorted() { tell(relay) }
    }

    private mutating func tell(_ relay: RelayURL) {
        guard var told = changes.removeValue(forKey: relay) else { return }
        if let mark = mark(relay) {
            // For a key that is added while connected, reading starts at the key's own moment, not at the mark.
            for index in told.indices {
                guard case .put(var watched) = told[index], watched.isEstablished else { continue }
                watched.since = max(watched.since, mark - Self.margin.seconds)
                told[index] = .put(watched)
            }
        }
        relays.update(relay, told, isOperators: operators.contains(relay))
    }

    /// Events this long before a mark may be new for a key, because clocks differ and events take time to arrive.
    private static let margin: Duration = .hours(1)
}

/// Compares rows with targets in one pass. Both are sorted by their owners' bytes.
///
/// At the start, all rows are compared with all targets. Rows that match their target use no memory.
struct WatchComparison {
    /// An owner whose rows differ from its target.
    struct Difference {
        var owner: PublicKey
        /// The index of its target; nil if it has none.
        var target: Int?
    }

    private(set) var differing: [Difference] = []
    private let targets: [WatchTarget]
    private let always: [RelayNumber]
    private var position = 0
    private var rows: [WatchRow] = []

    init(_ targets: [WatchTarget], always: [RelayNumber]) {
        self.targets = targets
        self.always = always
    }

    /// Takes the next row. Returns the rows of the previous owner, if they match its target.
    mutating func next(_ row: WatchRow) -> [WatchRow]? {
        guard let owner = rows.first?.owner, owner != row.owner else {
            rows.append(row)
            return nil
        }
        defer { rows.append(row) }
        return close()
    }

    /// Ends the rows. Returns those of the last owner, if they match its target.
    mutating func end() -> [WatchRow]? {
        defer { skip(until: nil) }
        return rows.isEmpty ? nil : close()
    }

    private mutating func close() -> [WatchRow]? {
        guard let owner = rows.first?.owner else { return nil }
        defer { rows.removeAll(keepingCapacity: true) }
        skip(until: owner)
        guard position < targets.count, targets[position].owner == owner else {
            differing.append(Difference(owner: owner, target: nil))
            return nil
        }
        defer { step() }
        guard WatchPlan.holds(rows, targets[position].places(always: always)) else {
            differing.append(Difference(owner: owner, target: position))
            return nil
        }
        return rows
    }

    /// Skips targets without rows. They differ unless they request no relays.
    private mutating func skip(until owner: PublicKey?) {
        while position < targets.count, owner.map({ targets[position].owner < $0 }) ?? true {
            let target = targets[position]
            if !always.isEmpty || !target.relays.isEmpty {
                differing.append(Difference(owner: target.owner, target: position))
            }
            step()
        }
    }

    /// Moves to the next owner. If an owner has two targets, from reads at different moments, the first counts.
    private mutating func step() {
        let owner = targets[position].owner
        repeat { position += 1 } while position < targets.count && targets[position].owner == owner
    }
}
