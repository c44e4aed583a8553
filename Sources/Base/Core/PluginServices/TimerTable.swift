/// Timers of the service `carillon.timer/1`, and when each of them fires next. Pure: its owner has the clock, the lock
/// and the thread that makes the calls.
///
/// A call begins with ``takeDue(now:)`` and ends with ``end(_:now:)``; in between the timer does not fire again.
package struct TimerTable<Payload: Sendable>: Sendable {
    /// Whether a timer was started, and its number.
    package enum Start: Equatable, Sendable {
        case started(UInt64)
        /// A time is beyond its limit.
        case invalid
        /// The instance has as many timers as it may have.
        case full
    }

    /// What is known of a timer's calls after it was cancelled.
    package enum Cancellation: Equatable, Sendable {
        /// There will be none.
        case ended
        /// One is under way, and none will follow.
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
        /// A call is under way and the last one.
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

    /// Timers of an instance at once.
    package static var limit: Int { 1024 }
    private static var longest: UInt64 { 366 * 86_400_000 }
    private static var shortestPause: UInt64 { 10 }
    /// Places in the queue of timers that are gone: so many are left there in any case.
    private static var extraTurns: Int { 64 }

    private var timers: [UInt64: Timer] = [:]
    /// Timers of each instance that may fire again.
    private var counts: [UInt64: Int] = [:]
    private var turns = TurnQueue()
    private var last: UInt64 = 0

    package init() {}

    /// When the next timer fires; nil: none waits.
    package var nextDue: Deadline? { turns.first?.due }

    /// Starts a timer that fires after so many milliseconds, and from then on every `every`; 0: once. Its number was
    /// never used before.
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

    /// Ends a timer of that instance.
    package mutating func cancel(_ number: UInt64, of instance: UInt64) -> Cancellation {
        guard let timer = timers[number], timer.instance == instance else { return .unknown }
        switch timer.state {
        case .waiting:
            timers[number] = nil
            count(-1, of: instance)
            tidyUp()
            return .ended
        case .underWay:
            // One that fires once is not counted any more.
            if timer.every > .zero { count(-1, of: instance) }
            timers[number]?.state = .ending
            return .underWay
        case .ending: return .underWay
        }
    }

    /// Ends all timers of an instance.
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

    /// The call that is to be made first at `now`; nil: none is due. It is under way from now on.
    package mutating func takeDue(now: Deadline) -> Firing? {
        guard let turn = turns.first, turn.due <= now, let timer = timers[turn.timer] else { return nil }
        _ = turns.removeFirst()
        timers[turn.timer]?.state = .underWay
        if timer.every == .zero { count(-1, of: timer.instance) }
        tidyUp()
        return Firing(timer: turn.timer, payload: timer.payload)
    }

    /// A call has returned. A timer that repeats waits for its next turn after `now`; turns that it has missed are left
    /// out.
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

    /// Takes turns of timers that are gone from the front of the queue, and from everywhere when they are too many.
    private mutating func tidyUp() {
        if turns.count > 2 * timers.count + Self.extraTurns {
            turns.keep { [timers] in timers[$0.timer]?.state == .waiting }
        }
        while let turn = turns.first, timers[turn.timer]?.state != .waiting { _ = turns.removeFirst() }
    }
}

/// When a timer fires.
private struct Turn: Comparable, Sendable {
    let due: Deadline
    let timer: UInt64

    static func < (one: Turn, other: Turn) -> Bool { (one.due, one.timer) < (other.due, other.timer) }
}

/// Turns, of which the first can be had at once: a binary heap.
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
        // Ascending is an order that a heap may have.
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
