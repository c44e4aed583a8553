import Nostr
import Registry

/// Compares rows with targets in one pass. Both are in the order of their owners' bytes.
///
/// A start compares all rows with all targets like this. Rows that match their target take no memory.
struct WatchComparison {
    /// An owner whose rows differ from its target.
    struct Difference {
        var owner: PublicKey
        /// The position of its target; nil when there is none.
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

    /// Takes the next row. Returns the rows of the owner before, if they match its target.
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

    /// A target without rows differs unless it asks for nothing.
    private mutating func skip(until owner: PublicKey?) {
        while position < targets.count, owner.map({ targets[position].owner < $0 }) ?? true {
            let target = targets[position]
            if !always.isEmpty || !target.relays.isEmpty {
                differing.append(Difference(owner: target.owner, target: position))
            }
            step()
        }
    }

    /// Moves to the next owner. If reads at different moments led to two targets for one owner, the first counts.
    private mutating func step() {
        let owner = targets[position].owner
        repeat { position += 1 } while position < targets.count && targets[position].owner == owner
    }
}
