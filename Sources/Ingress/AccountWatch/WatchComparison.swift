import Nostr
import Registry

/// Compares rows with wishes, both in the order of their owners' bytes, in one go.
struct WatchComparison {
    /// An owner whose rows are not what its wish asks for.
    struct Difference {
        var owner: PublicKey
        /// Where its wish is among the wishes; nil when there is none.
        var wish: Int?
    }

    private(set) var differing: [Difference] = []
    private let wishes: [WatchWish]
    private let always: [RelayNumber]
    private var position = 0
    private var rows: [WatchRow] = []

    init(_ wishes: [WatchWish], always: [RelayNumber]) {
        self.wishes = wishes
        self.always = always
    }

    /// Takes the next row. Returns the rows of the owner before, when they are what its wish asks for.
    mutating func next(_ row: WatchRow) -> [WatchRow]? {
        guard let owner = rows.first?.owner, owner != row.owner else {
            rows.append(row)
            return nil
        }
        defer { rows.append(row) }
        return close()
    }

    /// Says that there are no more rows. Returns those of the last owner, when they are what its wish asks for.
    mutating func end() -> [WatchRow]? {
        defer { skip(until: nil) }
        return rows.isEmpty ? nil : close()
    }

    private mutating func close() -> [WatchRow]? {
        guard let owner = rows.first?.owner else { return nil }
        defer { rows.removeAll(keepingCapacity: true) }
        skip(until: owner)
        guard position < wishes.count, wishes[position].owner == owner else {
            differing.append(Difference(owner: owner, wish: nil))
            return nil
        }
        defer { step() }
        guard WatchPlan.holds(rows, wishes[position].places(always: always)) else {
            differing.append(Difference(owner: owner, wish: position))
            return nil
        }
        return rows
    }

    /// Wishes without rows come to nothing only if they ask for nothing.
    private mutating func skip(until owner: PublicKey?) {
        while position < wishes.count, owner.map({ wishes[position].owner < $0 }) ?? true {
            let wish = wishes[position]
            if !always.isEmpty || !wish.relays.isEmpty {
                differing.append(Difference(owner: wish.owner, wish: position))
            }
            step()
        }
    }

    /// To the next owner: of two wishes for one, which reads at different moments may bring about, the first counts.
    private mutating func step() {
        let owner = wishes[position].owner
        repeat { position += 1 } while position < wishes.count && wishes[position].owner == owner
    }
}
