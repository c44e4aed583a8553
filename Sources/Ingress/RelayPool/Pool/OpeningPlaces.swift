import DequeModule

/// Bounds how many connections are being opened at the same time; who comes first is served first.
struct OpeningPlaces {
    private var free: Int
    private var waiting: Deque<RelayURL> = []

    init(_ count: Int) {
        free = max(1, count)
    }

    /// Takes a place for `relay`, or has it wait for one.
    mutating func take(_ relay: RelayURL) -> Bool {
        guard free > 0 else {
            waiting.append(relay)
            return false
        }
        free -= 1
        return true
    }

    /// Gives a place back. Returns who has it now, if anybody waited.
    mutating func leave() -> RelayURL? {
        guard let next = waiting.popFirst() else {
            free += 1
            return nil
        }
        return next
    }
}
