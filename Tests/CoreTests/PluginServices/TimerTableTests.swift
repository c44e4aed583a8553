import Core
import RandomTestSupport
import Testing
import TimeTestSupport

/// The times at which timers fire, by a table without a clock.
struct TimerTableTests {
    /// A table that expressions under test can change.
    private final class Table {
        private var table = TimerTable<String>()

        var nextDue: Deadline? { table.nextDue }

        func start(
            of instance: UInt64,
            after: UInt64,
            every: UInt64,
            now: Deadline,
            _ name: String
        )
            -> TimerTable<String>.Start
        {
            table.start(of: instance, after: after, every: every, now: now, name)
        }

        func cancel(_ number: UInt64, of instance: UInt64) -> TimerTable<String>.Cancellation {
            table.cancel(number, of: instance)
        }

        func removeAll(of instance: UInt64) { table.removeAll(of: instance) }

        func takeDue(now: Deadline) -> UInt64? { table.takeDue(now: now)?.timer }

        func end(_ number: UInt64, now: Deadline) { table.end(number, now: now) }

        /// Makes all due calls, each of which takes no time.
        func fire(at now: Deadline) -> [String] {
            var fired: [String] = []
            while let firing = table.takeDue(now: now) {
                fired.append(firing.payload)
                table.end(firing.timer, now: now)
            }
            return fired
        }
    }

    private let table = Table()

    @Test func oneFiresOnce() {
        #expect(table.start(of: 1, after: 50, every: 0, now: 100, "a") == .started(1))
        #expect(table.nextDue == 150)
        #expect(table.fire(at: 149).isEmpty)
        #expect(table.fire(at: 150) == ["a"])
        #expect(table.nextDue == nil)
        #expect(table.cancel(1, of: 1) == .unknown)
    }

    @Test func theEarliestFiresFirst() {
        for (after, name) in [(30, "c"), (10, "a"), (30, "d"), (20, "b")] {
            _ = table.start(of: 1, after: UInt64(after), every: 0, now: 0, name)
        }
        #expect(table.fire(at: 100) == ["a", "b", "c", "d"])
    }

    @Test func ticksMissedDuringASlowCallAreSkipped() throws {
        _ = table.start(of: 1, after: 10, every: 10, now: 0, "a")
        let first = try #require(table.takeDue(now: 10))
        #expect(table.takeDue(now: 1_000) == nil)
        #expect(table.nextDue == nil)
        table.end(first, now: 45)
        #expect(table.nextDue == 50)
        #expect(table.fire(at: 50) == ["a"])
        // A call that returns at the moment of its next turn has missed that turn.
        let third = try #require(table.takeDue(now: 60))
        table.end(third, now: 70)
        #expect(table.nextDue == 80)
    }

    @Test func cancelReportsAnActiveCall() throws {
        _ = table.start(of: 1, after: 0, every: 10, now: 0, "a")
        _ = table.start(of: 1, after: 0, every: 0, now: 0, "b")
        let (a, b) = (try #require(table.takeDue(now: 0)), try #require(table.takeDue(now: 0)))
        for _ in 0..<2 {
            #expect(table.cancel(a, of: 1) == .underWay)
            #expect(table.cancel(b, of: 1) == .underWay)
        }
        table.end(a, now: 5)
        table.end(b, now: 5)
        #expect(table.nextDue == nil)
        #expect(table.cancel(a, of: 1) == .unknown)
        #expect(table.start(of: 1, after: 5, every: 10, now: 5, "c") == .started(3))
        #expect(table.cancel(3, of: 2) == .unknown)
        #expect(table.cancel(3, of: 1) == .ended)
        #expect(table.fire(at: 1_000).isEmpty)
    }

    @Test func timesHaveLimits() {
        let longest: UInt64 = 366 * 86_400_000
        for (after, every) in [(longest + 1, 0), (.max, 0), (0, 9), (0, longest + 1), (0, .max)] {
            #expect(table.start(of: 1, after: after, every: every, now: 0, "a") == .invalid)
        }
        #expect(table.start(of: 1, after: longest, every: longest, now: 0, "a") == .started(1))
        #expect(table.start(of: 1, after: 0, every: 10, now: 0, "a") == .started(2))
    }

    @Test func timersPerInstanceAreLimited() throws {
        for _ in 0..<1_024 { _ = table.start(of: 1, after: 0, every: 0, now: 0, "a") }
        #expect(table.start(of: 1, after: 0, every: 0, now: 0, "a") == .full)
        #expect(table.start(of: 2, after: 9, every: 0, now: 0, "b") == .started(1_025))
        // A timer that fires for the last time frees its place.
        let firing = try #require(table.takeDue(now: 0))
        #expect(table.start(of: 1, after: 5, every: 0, now: 0, "c") == .started(1_026))
        #expect(table.cancel(firing, of: 1) == .underWay)
        #expect(table.start(of: 1, after: 0, every: 0, now: 0, "a") == .full)
        table.removeAll(of: 1)
        table.end(firing, now: 0)
        #expect(table.fire(at: 100) == ["b"])
        for _ in 0..<1_024 { _ = table.start(of: 1, after: 0, every: 0, now: 0, "a") }
        #expect(table.start(of: 1, after: 0, every: 0, now: 0, "a") == .full)
    }

    /// Timers that a plugin starts and cancels all the time use no memory.
    @Test func cancelledTimersUseNoMemory() {
        _ = table.start(of: 1, after: 1_000_000, every: 0, now: 0, "last")
        for _ in 0..<10_000 {
            guard case .started(let number) = table.start(of: 1, after: 2_000_000, every: 0, now: 0, "a") else {
                return
            }
            #expect(table.cancel(number, of: 1) == .ended)
        }
        #expect(table.fire(at: 3_000_000) == ["last"])
    }

    /// Compares random schedules with a list that is searched completely.
    @Test(arguments: 0..<200 as Range<UInt64>) func tableMatchesItsModel(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var model = TimerModel()
        var now: Deadline = 1_000
        var underWay: [UInt64] = []
        for _ in 0..<400 {
            let instance = random.below(3)
            switch random.below(10) {
            case 0..<3:
                let (after, every) = (random.below(60), random.below(2) == 0 ? 0 : 10 + random.below(30))
                let result = table.start(of: instance, after: after, every: every, now: now, "")
                let number = model.start(of: instance, after: after, every: every, now: now)
                #expect(result == .started(number))
            case 3:
                let number = random.below(model.last + 2)
                let expected = model.cancel(number, of: instance)
                #expect(table.cancel(number, of: instance) == expected)
            case 4..<7:
                let firing = table.takeDue(now: now)
                let expected = model.takeDue(now: now)
                #expect(firing == expected)
                if let firing { underWay.append(firing) }
            case 7 where !underWay.isEmpty:
                let number = underWay.remove(at: Int(random.below(UInt64(underWay.count))))
                table.end(number, now: now)
                model.end(number, now: now)
            case 8 where random.below(10) == 0:
                table.removeAll(of: instance)
                model.removeAll(of: instance)
            default: now += .milliseconds(Int64(random.below(40)))
            }
            #expect(table.nextDue == model.nextDue)
        }
    }
}

/// The same as ``TimerTable`` without its limits, slow and plain.
private struct TimerModel {
    private struct Timer {
        let number: UInt64
        let instance: UInt64
        let every: Int64
        /// Nil while a call is in progress.
        var due: Deadline?
        var lastDue: Deadline
        var isLast: Bool
    }

    private var timers: [Timer] = []
    private(set) var last: UInt64 = 0

    var nextDue: Deadline? { timers.compactMap(\.due).min() }

    mutating func start(of instance: UInt64, after: UInt64, every: UInt64, now: Deadline) -> UInt64 {
        last += 1
        let due = now + .milliseconds(Int64(after))
        timers.append(
            Timer(number: last, instance: instance, every: Int64(every), due: due, lastDue: due, isLast: every == 0)
        )
        return last
    }

    mutating func cancel(_ number: UInt64, of instance: UInt64) -> TimerTable<String>.Cancellation {
        guard let place = timers.firstIndex(where: { $0.number == number && $0.instance == instance }) else {
            return .unknown
        }
        guard timers[place].due != nil else {
            timers[place].isLast = true
            return .underWay
        }
        timers.remove(at: place)
        return .ended
    }

    mutating func removeAll(of instance: UInt64) {
        timers.removeAll { $0.instance == instance && $0.due != nil }
        for place in timers.indices where timers[place].instance == instance { timers[place].isLast = true }
    }

    mutating func takeDue(now: Deadline) -> UInt64? {
        let due = timers.filter { $0.due.map { $0 <= now } ?? false }
        let next = due.min { ($0.lastDue, $0.number) < ($1.lastDue, $1.number) }
        guard let next, let place = timers.firstIndex(where: { $0.number == next.number }) else { return nil }
        timers[place].due = nil
        return next.number
    }

    mutating func end(_ number: UInt64, now: Deadline) {
        guard let place = timers.firstIndex(where: { $0.number == number && $0.due == nil }) else { return }
        guard !timers[place].isLast else {
            timers.remove(at: place)
            return
        }
        var due = timers[place].lastDue
        repeat { due += .milliseconds(timers[place].every) } while due <= now
        timers[place].due = due
        timers[place].lastDue = due
    }
}
