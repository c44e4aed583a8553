import Units

/// When the router sends the frames that wait for a process, and when it looks for what the process has sent. Pure.
///
/// Waking a process costs more than sending. So a frame goes at once only if nothing went within the last millisecond,
/// or if few went lately: two deliveries that happen to come together wait for nothing. After that the thread of the
/// socket *ticks*: it sends once a millisecond what has come together, until a tick finds nothing. While much comes
/// together it ticks every two or four milliseconds, and reads at its ticks alone, so that the answers do not wake it:
/// each tick wakes both sides, which costs them some 50 µs.
package struct FlushPace: Sendable {
    /// What becomes of a frame that was added.
    package enum Step: Sendable, Equatable {
        /// Send it now, with what waits.
        case flush
        /// The thread of the socket sends it.
        case wait
        /// The same, but the thread must be woken first.
        case wake
    }

    /// How the thread of the socket waits.
    package struct Wait: Sendable, Equatable {
        /// Whether input ends it.
        package let readsAtOnce: Bool
        /// At most; nil: as long as nothing happens.
        package let milliseconds: Int32?

        package init(readsAtOnce: Bool, milliseconds: Int32?) {
            self.readsAtOnce = readsAtOnce
            self.milliseconds = milliseconds
        }
    }

    /// So many frames in a tick are many: about 8,000 pushes a second while it ticks every millisecond, and 4,000 while
    /// it ticks every two, so that the tick does not change all the time.
    private static let many = 16
    /// So many are worth a tick of four milliseconds: 32,000 pushes a second, or 16,000 while it is as long already.
    private static let veryMany = 128
    /// So many flushes are few. Each counts for `flushCost`, and a steady flow is more than that.
    private static let burst = 8
    private static let flushCost: Duration = .milliseconds(2)

    /// What the thread of the socket does by itself. Only while it ticks may input wait for it.
    private enum Phase: Sendable, Equatable {
        case resting
        case ticking(milliseconds: Int32)
    }

    private let lingers: Bool
    private var flushedAt = Deadline.distantPast
    /// When the flushes until now count no more: a token bucket by the time at which it is full again.
    private var forgottenAt = Deadline.distantPast
    private var phase = Phase.resting
    /// Frames since the last flush.
    private var added = 0

    /// A pace that lets frames linger, or sends each at once.
    package init(lingers: Bool) { self.lingers = lingers }

    /// A frame was added. The clock is read only where its time matters.
    package mutating func add(now: @autoclosure () -> Deadline) -> Step {
        added += 1
        guard lingers else { return .flush }
        if case .ticking = phase { return .wait }
        let now = now()
        if now.milliseconds > flushedAt.milliseconds || forgottenAt <= now + Self.flushCost * (Self.burst - 1) {
            flushed(now: now)
            return .flush
        }
        phase = .ticking(milliseconds: 1)
        return .wake
    }

    /// The thread of the socket looks: whether it is to send what waits. `isAnything`: something does. Nothing may wait
    /// although much was added, where the other side has made room meanwhile.
    package mutating func tick(now: Deadline, isAnything: Bool) -> Bool {
        guard case .ticking = phase, now.milliseconds > flushedAt.milliseconds else { return false }
        guard isAnything else {
            phase = .resting
            added = 0
            return false
        }
        phase = .ticking(milliseconds: added < Self.many ? 1 : added < Self.veryMany ? 2 : 4)
        flushed(now: now)
        return true
    }

    /// How the thread waits for its next look.
    package var wait: Wait {
        switch phase {
        case .resting: Wait(readsAtOnce: true, milliseconds: nil)
        case .ticking(let milliseconds): Wait(readsAtOnce: milliseconds == 1, milliseconds: milliseconds)
        }
    }

    private mutating func flushed(now: Deadline) {
        flushedAt = now
        forgottenAt = min(max(forgottenAt, now) + Self.flushCost, now + Self.flushCost * Self.burst)
        added = 0
    }
}
