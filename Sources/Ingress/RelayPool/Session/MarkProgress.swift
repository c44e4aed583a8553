import Units

/// Finds moments up to which every event was dealt with, although further events keep coming.
///
/// Events are counted by epoch. A candidate ends an epoch. Once no event of that epoch or earlier ones is outstanding,
/// the candidate holds.
struct MarkProgress: Sendable {
    /// Corrections of the clock by less than this are normal.
    private static let clockSlack: Duration = .minutes(1)

    /// The last moment that held, in seconds since 1970.
    private(set) var reached: Int64?
    private(set) var epoch: UInt32 = 0
    /// How many events of the current epoch are out; no dictionary is for each event.
    private var current = 0
    /// The same of earlier epochs, where there are any.
    private var earlier: [UInt32: Int] = [:]
    private var candidate: (seconds: Int64, epoch: UInt32)?
    /// When to look for the next candidate.
    private(set) var nextAt = Timestamp.epoch

    /// Whether no event is out.
    var isIdle: Bool { current == 0 && earlier.isEmpty }

    /// Counts an event that is handed over; returns its epoch.
    mutating func arrived() -> UInt32 {
        current += 1
        return epoch
    }

    /// Counts an event that was dealt with, or was not and will be read again.
    mutating func settled(_ epoch: UInt32) {
        if epoch == self.epoch {
            current = max(0, current - 1)
        } else if let count = earlier[epoch] {
            earlier[epoch] = count > 1 ? count - 1 : nil
        }
    }

    /// Something is missing: no moment after the last mark holds for now.
    mutating func dismiss() { candidate = nil }

    /// Sets what an earlier process reached.
    mutating func resume(from seconds: Int64) {
        reached = max(reached ?? seconds, seconds)
    }

    /// Takes back a mark from a clock that ran ahead of `now` and was set back since: everything after `seconds` is
    /// open again.
    mutating func distrust(now: Timestamp, to seconds: Int64) {
        guard let reached, reached > (now + Self.clockSlack).seconds else { return }
        self.reached = seconds
        candidate = nil
        nextAt = .epoch
    }

    /// Checks at `now` whether a moment holds. Call it only if nothing is missing.
    mutating func advance(now: Timestamp, interval: Duration) -> Int64? {
        if candidate == nil, now >= nextAt {
            candidate = (now.seconds, epoch)
            if current > 0 { earlier[epoch] = current }
            current = 0
            epoch &+= 1
        }
        guard let candidate, !earlier.keys.contains(where: { $0 <= candidate.epoch }) else { return nil }
        self.candidate = nil
        nextAt = now + interval
        guard candidate.seconds > reached ?? 0 else { return nil }
        reached = candidate.seconds
        return candidate.seconds
    }

    /// Takes `now` as the mark, if no event is outstanding. Returns nil if that is nothing new.
    mutating func conclude(now: Timestamp) -> Int64? {
        guard isIdle, now.seconds > reached ?? 0 else { return nil }
        reached = now.seconds
        return reached
    }
}
