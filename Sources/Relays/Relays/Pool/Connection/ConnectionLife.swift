import Core
import DequeModule

/// Decides when to open and close the connection to one relay, without its socket and its clock.
struct ConnectionLife {
    enum State: Equatable {
        case idle
        case waiting(until: Deadline)
        /// Waits for a slot among the connections being opened.
        case queued
        case opening
        case open(since: Deadline)
        /// The router is closing the connection.
        case closing
        /// Shut down permanently.
        case over
    }

    /// An action for the shell around this type.
    enum Action: Equatable {
        case nothing
        /// Request a slot, and call ``ConnectionLife/placed()`` when there is one.
        case queue
        case open
        /// Release the slot for another relay.
        case passOn
        case close
    }

    private let pauses: ConnectionPauses
    /// How long an unneeded connection stays open.
    private let idle: Duration
    private(set) var state = State.idle
    private var mayRest = true
    private var isNeeded = false
    private var failures = 0
    private var wasOpen = false
    private var retryAt = Deadline.distantPast
    private var unneededAt = Deadline.distantFuture

    init(pauses: ConnectionPauses, idle: Duration) {
        self.pauses = pauses
        self.idle = idle
    }

    /// When to call ``tick(now:)``; nil if no timer is needed.
    var nextTick: Deadline? {
        switch state {
        case .waiting(let until): until
        case .open where unneededAt < .distantFuture: unneededAt
        case .idle where retryAt > .distantPast: retryAt
        default: nil
        }
    }

    /// Whether the relay can be forgotten. It cannot during a pause, because the pause would be lost.
    var isForgettable: Bool { state == .over || (state == .idle && retryAt == .distantPast) }

    mutating func need(_ isNeeded: Bool, now: Deadline) -> Action {
        guard self.isNeeded != isNeeded else { return .nothing }
        self.isNeeded = isNeeded
        unneededAt = isNeeded ? .distantFuture : now + idle
        switch state {
        case .idle where isNeeded: return approach(now: now)
        case .waiting where !isNeeded, .queued where !isNeeded: state = .idle
        default: break
        }
        return .nothing
    }

    mutating func tick(now: Deadline) -> Action {
        switch state {
        case .waiting(let until) where until <= now:
            return approach(now: now)
        case .open where unneededAt <= now:
            state = .closing
            return .close
        case .idle where retryAt <= now:
            retryAt = .distantPast
            return .nothing
        default:
            return .nothing
        }
    }

    /// Sets whether the relay rests after failures. If not, it is retried forever, starting now: it may have been
    /// repaired.
    mutating func set(mayRest: Bool, now: Deadline) -> Action {
        guard mayRest != self.mayRest else { return .nothing }
        self.mayRest = mayRest
        guard !mayRest else { return .nothing }
        failures = 0
        retryAt = .distantPast
        guard case .waiting = state else { return .nothing }
        return approach(now: now)
    }

    /// Takes a slot among the connections being opened.
    mutating func placed() -> Action {
        guard case .queued = state else { return .passOn }
        state = .opening
        return .open
    }

    mutating func opened(now: Deadline) -> Action {
        guard case .opening = state else { return .close }
        state = .open(since: now)
        wasOpen = true
        return .nothing
    }

    /// The connection has ended or could not be opened. `jitter` is from 0 to 1.
    mutating func ended(now: Deadline, jitter: Double) -> Action {
        switch state {
        case .opening:
            failed(now: now, jitter: jitter)
        case .open(let since):
            if now - since >= pauses.proof { failures = 0 }
            failed(now: now, jitter: jitter)
        case .closing:
            break
        case .idle, .waiting, .queued, .over:
            return .nothing
        }
        state = .idle
        return isNeeded ? approach(now: now) : .nothing
    }

    /// Disconnects from the relay for that long.
    mutating func rest(for span: Duration, now: Deadline) -> Action {
        retryAt = max(retryAt, now + span)
        switch state {
        case .waiting, .queued:
            state = .waiting(until: retryAt)
            return .nothing
        case .open:
            state = .closing
            return .close
        default:
            return .nothing
        }
    }

    mutating func stop() -> Action {
        defer { state = .over }
        switch state {
        case .open, .closing: return .close
        default: return .nothing
        }
    }

    private mutating func approach(now: Deadline) -> Action {
        guard retryAt <= now else {
            state = .waiting(until: retryAt)
            return .nothing
        }
        state = .queued
        return .queue
    }

    private mutating func failed(now: Deadline, jitter: Double) {
        failures += 1
        let allowedFailures = wasOpen ? pauses.failuresBeforeRest : pauses.failuresOfUnknown
        let isSpent = mayRest && failures >= allowedFailures
        let full = isSpent ? pauses.rest : min(pauses.longest, pauses.first * (1 << min(failures - 1, 30)))
        retryAt = max(retryAt, now + full / 2 * (1 + min(max(jitter, 0), 1)))
    }
}

/// The pauses after failed connections. Each is random between half of these times and the whole, so that relays that
/// failed together are not retried together.
package struct ConnectionPauses: Sendable {
    /// The pause after a first failure. It doubles with each failure that follows.
    package var first: Duration = .seconds(1)
    /// The maximum pause from doubling.
    package var longest: Duration = .minutes(10)
    /// The number of consecutive failures after which a relay rests.
    package var failuresBeforeRest = 10
    /// The same for a relay that was never connected.
    package var failuresOfUnknown = 5
    /// How long a relay that a user named rests. The operator's relays are retried forever.
    package var rest: Duration = .hours(1)
    /// A connection that lasts this long clears earlier failures.
    package var proof: Duration = .minutes(1)
    /// Where between half and the whole a pause ends, from 0 to 1. Default: random.
    package var jitter: @Sendable () -> Double = { .random(in: 0...1) }

    package init() {}
}

/// Limits the number of connections that are being opened at the same time, in the order of requests. A relay holds at
/// most one slot and queues once, regardless of the number of requests.
struct OpeningPlaces {
    private let limit: Int
    private var holders: Set<RelayURL> = []
    private var queue: Deque<RelayURL> = []
    private var waiting: Set<RelayURL> = []

    init(_ limit: Int) {
        self.limit = max(1, limit)
    }

    /// Takes a slot for `relay`, or queues it.
    mutating func take(_ relay: RelayURL) -> Bool {
        if holders.contains(relay) { return true }
        guard holders.count < limit else {
            if waiting.insert(relay).inserted { queue.append(relay) }
            return false
        }
        holders.insert(relay)
        return true
    }

    /// Releases the slot of `relay`, if it has one. Returns the queued relay that gets it.
    mutating func leave(_ relay: RelayURL) -> RelayURL? {
        guard holders.remove(relay) != nil, let next = queue.popFirst() else { return nil }
        waiting.remove(next)
        holders.insert(next)
        return next
    }
}
