/// The timers of the service `carillon.timer/1`, and when each fires next. Pure: its owner has the clock, the lock and
/// the thread that makes the calls.
///
/// A call starts with ``takeDue(now:)`` and ends with ``end(_:now:)``; until then the timer does not fire again.
package struct TimerTable<Payload: Sendable>: Sendable {
    /// The result of starting a timer, with its number.
    package enum Start: Equatable, Sendable {
        case started(UInt64)
        /// A time exceeds its limit.
        case invalid
        /// The instance has the maximum number of timers.
        case full
    }

    /// The result of cancelling a timer.
    package enum Cancellation: Equatable, Sendable {
        /// No more calls follow.
        case ended
        /// One call is in progress, and no more follow.
        case underWay
        /// There is no such timer.
        case unknown
    }

    /// A call to make.
    package struct Firing: Sendable {
        package let timer: UInt64
        package let payload: Payload
    }

    private enum State: Sendable {
        case waiting
        case underWay
        /// The last call is in progress.
        case ending
    }

    private struct Timer: Sendable {
        let instance: UInt64
        let payload: Payload
        /// Zero: it fires once.
        let every: Duration
        var due: Deadline
        var state = State.waiting
    }

    /// The maximum number of timers of an instance.
    package static var limit: Int { 1024 }
    private static var longest: UInt64 { 366 * 86_400_000 }
    private static var shortestPause: UInt64 { 10 }
    /// The queue may have this number of entries of removed timers before it is cleaned up.
    private static var extraTurns: Int { 64 }

    private var timers: [UInt64: Timer] = [:]
    /// The number of timers of each instance that may fire again.
    private var counts: [UInt64: Int] = [:]
    private var turns = TurnQueue()
    private var last: UInt64 = 0

    package init() {}

    /// When the next timer fires; nil: none is waiting.
    package var nextDue: Deadline? { turns.first?.due }

    /// Starts a timer that fires after `after` milliseconds, and then every `every` milliseconds; 0: once. Its number
    /// was never used before.
    package mutating func start(
        of instance: UInt64,
        after: UInt64,
        every: UInt64,
        now: Deadline,
        _ payload: Payload
    ) -> Start {
        guard after <= Self.longest, every == 0 || (Self.shortestPause...Self.longest).contains(every) else {
            return .invalid
        }
        guard counts[instance, default: 0] < Self.limit else { return .full }
        counts[instance, default: 0] += 1
        last += 1
        let due = now + .milliseconds(Int64(after))
        timers[last] = Timer(instance: instance, payload: payload, every: .milliseconds(Int64(every)), due: due)
        turns.insert(Turn(due: due, timer: last))
        return .started(last)
    }

    /// Cancels a timer of that instance.
    package mutating func cancel(_ number: UInt64, of instance: UInt64) -> Cancellation {
        guard let timer = timers[number], timer.instance == instance else { return .unknown }
        switch timer.state {
        case .waiting:
            timers[number] = nil
            count(-1, of: instance)
            tidyUp()
            return .ended
        case .underWay:
            // A timer that fires once no longer counts.
            if timer.every > .zero { count(-1, of: instance) }
            timers[number]?.state = .ending
            return .underWay
        case .ending: return .underWay
        }
    }

    /// Cancels all timers of an instance.
    package mutating func removeAll(of instance: UInt64) {
        guard timers.contains(where: { $0.value.instance == instance }) else { return }
        for (number, timer) in timers where timer.instance == instance {
            timers[number] = nil
            if timer.state != .waiting {
                timers[number] = timer
                timers[number]?.state = .ending
            }
        }
        counts[instance] = nil
        tidyUp()
    }

    /// Returns the next call that is due at `now`; nil: none. The call is in progress from now on.
    package mutating func takeDue(now: Deadline) -> Firing? {
        guard let turn = turns.first, turn.due <= now, let timer = timers[turn.timer] else { return nil }
        _ = turns.removeFirst()
        timers[turn.timer]?.state = .underWay
        if timer.every == .zero { count(-1, of: timer.instance) }
        tidyUp()
        return Firing(timer: turn.timer, payload: timer.payload)
    }

    /// Ends a call. A repeating timer waits for its next turn after `now`; missed turns are skipped.
    package mutating func end(_ number: UInt64, now: Deadline) {
        guard let timer = timers[number], timer.state != .waiting else { return }
        guard timer.state == .underWay, timer.every > .zero else {
            timers[number] = nil
            return
        }
        let pause = timer.every.milliseconds
        let missed = max(0, (now - timer.due).milliseconds / pause)
        let due = timer.due + .milliseconds((missed + 1) * pause)
        timers[number]?.due = due
        timers[number]?.state = .waiting
        turns.insert(Turn(due: due, timer: number))
    }

    private mutating func count(_ change: Int, of instance: UInt64) {
        let count = counts[instance, default: 0] + change
        counts[instance] = count > 0 ? count : nil
    }

    /// Removes entries of removed timers from the front of the queue, and from everywhere if there are too many.
    private mutating func tidyUp() {
        if turns.count > 2 * timers.count + Self.extraTurns {
            turns.keep { [timers] in timers[$0.timer]?.state == .waiting }
        }
        while let turn = turns.first, timers[turn.timer]?.state != .waiting { _ = turns.removeFirst() }
    }
}

/// The time when a timer fires.
private struct Turn: Comparable, Sendable {
    let due: Deadline
    let timer: UInt64

    static func < (one: Turn, other: Turn) -> Bool { (one.due, one.timer) < (other.due, other.timer) }
}

/// A binary heap of turns.
private struct TurnQueue: Sendable {
    private var turns: [Turn] = []

    var count: Int { turns.count }
    var first: Turn? { turns.first }

    mutating func insert(_ turn: Turn) {
        turns.append(turn)
        rise(from: turns.count - 1)
    }

    mutating func removeFirst() -> Turn? {
        guard let first = turns.first, let last = turns.popLast() else { return nil }
        if !turns.isEmpty {
            turns[0] = last
            sink(from: 0)
        }
        return first
    }

    mutating func keep(_ isKept: (Turn) -> Bool) {
        // A sorted array is a valid heap.
        turns = turns.filter(isKept).sorted()
    }

    private mutating func rise(from start: Int) {
        var place = start
        while place > 0 {
            let parent = (place - 1) / 2
            guard turns[place] < turns[parent] else { return }
            turns.swapAt(place, parent)
            place = parent
        }
    }

    private mutating func sink(from start: Int) {
        var place = start
        while true {
            let children = [2 * place + 1, 2 * place + 2].filter { $0 < turns.count }
            guard let least = children.min(by: { turns[$0] < turns[$1] }), turns[least] < turns[place] else { return }
            turns.swapAt(place, least)
            place = least
        }
    }
}
