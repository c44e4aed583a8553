import Core
import Testing
import TimeTestSupport

@testable import PluginHost

/// When frames for a process are sent.
struct FlushPaceTests {
    private typealias Wait = FlushPace.Wait

    /// A pace that lingers at 10 ms: enough was sent recently that the next frame waits.
    private static var busyPace: FlushPace {
        var pace = FlushPace(lingers: true)
        for _ in 1...8 { #expect(pace.add(now: 10) == .flush) }
        return pace
    }

    @Test func frameAfterSilenceIsSentImmediately() {
        var pace = FlushPace(lingers: true)
        #expect(pace.add(now: 10) == .flush)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: nil))
        #expect(pace.add(now: 11) == .flush)
    }

    /// Frames that coincide by chance, such as two deliveries, or a delivery and the answer to another.
    @Test func fewFramesAreSentImmediatelyAndMoreWait() {
        var pace = Self.busyPace
        #expect(pace.add(now: 10) == .wake)
    }

    /// Two milliseconds for each. A tick that sends something counts as well.
    @Test(arguments: [(0, 1), (1, 1), (2, 2), (3, 2), (4, 3), (6, 4), (14, 8), (1_000, 8)])
    func fewFramesAreSentImmediatelyAgainAfterSilence(silence: Int64, flushes: Int) {
        var pace = Self.busyPace
        #expect(pace.add(now: 10) == .wake)
        #expect(pace.tick(now: 11, isAnything: true) == true)
        #expect(pace.tick(now: 12, isAnything: false) == false)
        let now = Deadline(milliseconds: 13 + silence)
        for _ in 1...flushes { #expect(pace.add(now: now) == .flush) }
        #expect(pace.add(now: now) == .wake)
    }

    /// A steady flow is sent as rarely as with no immediate sends, which wakes the other side least often.
    @Test func aSteadyFlowLingers() {
        var pace = FlushPace(lingers: true)
        var flushes = 0
        for quarter in 0..<4_000 {
            let now = Deadline(milliseconds: Int64(quarter / 4))
            switch pace.add(now: now) {
            case .flush: flushes += 1
            case .wait, .wake: if pace.tick(now: now, isAnything: true) { flushes += 1 }
            }
        }
        #expect(flushes <= 1_015)
    }

    @Test func theNextOneWaitsForTheThreadWhichIsWokenOnce() {
        var pace = Self.busyPace
        #expect(pace.add(now: 10) == .wake)
        #expect(pace.add(now: 10) == .wait)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: 1))
        #expect(pace.tick(now: 10, isAnything: true) == false)
        #expect(pace.tick(now: 11, isAnything: true) == true)
        // Later frames are sent with the next tick, and cause no wakeup.
        #expect(pace.add(now: 12) == .wait)
        #expect(pace.tick(now: 12, isAnything: true) == true)
    }

    @Test func emptyTickIsTheLast() {
        var pace = Self.busyPace
        _ = pace.add(now: 10)
        #expect(pace.tick(now: 11, isAnything: true) == true)
        #expect(pace.tick(now: 12, isAnything: false) == false)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: nil))
        #expect(pace.add(now: 13) == .flush)
    }

    /// Answers wait for the ticks too, but only while many frames come together.
    @Test func manyFramesPerTickSlowTheTicksAndDelayResponses() {
        var pace = Self.busyPace
        for _ in 1...16 { _ = pace.add(now: 10) }
        #expect(pace.tick(now: 11, isAnything: true) == true)
        #expect(pace.wait == Wait(readsAtOnce: false, milliseconds: 2))
        _ = pace.add(now: 12)
        #expect(pace.tick(now: 15, isAnything: true) == true)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: 1))
    }

    @Test func veryManyFramesPerTickSlowTheTicksFurther() {
        var pace = Self.busyPace
        for _ in 1...128 { _ = pace.add(now: 10) }
        #expect(pace.tick(now: 11, isAnything: true) == true)
        #expect(pace.wait == Wait(readsAtOnce: false, milliseconds: 4))
        for _ in 1...127 { _ = pace.add(now: 12) }
        #expect(pace.tick(now: 15, isAnything: true) == true)
        #expect(pace.wait == Wait(readsAtOnce: false, milliseconds: 2))
    }

    /// A longer tick collects more frames: half of the number that made it long keeps it long.
    @Test(arguments: [(15, true), (16, false)]) func slowTicksEndWithFewerFrames(frames: Int, readsAtOnce: Bool) {
        var pace = Self.busyPace
        for _ in 1...16 { _ = pace.add(now: 10) }
        _ = pace.tick(now: 11, isAnything: true)
        for _ in 0..<frames { _ = pace.add(now: 12) }
        #expect(pace.tick(now: 15, isAnything: true) == true)
        #expect(pace.wait.readsAtOnce == readsAtOnce)
    }

    /// The clock is read only to decide whether a frame is sent immediately.
    @Test func frameWaitingForATickReadsNoClock() {
        var pace = Self.busyPace
        _ = pace.add(now: 10)
        var isRead = false
        func clock() -> Deadline {
            isRead = true
            return 10
        }
        #expect(pace.add(now: clock()) == .wait)
        #expect(!isRead)
    }

    /// In any order of events, input is read immediately or at the next tick, and input left to a tick gets one.
    @Test(arguments: [true, false]) func inputNeverWaitsForEver(lingers: Bool) {
        enum Step: CaseIterable { case pass, addOne, addMany, tickAndSend, tickAfterAllWentOut }
        var walks = 0
        func walk(_ pace: FlushPace, at now: Deadline, _ done: [Step]) {
            walks += 1
            #expect(pace.wait.readsAtOnce || pace.wait.milliseconds != nil, "\(done)")
            guard done.count < 6 else { return }
            for step in Step.allCases {
                var (pace, now) = (pace, now)
                switch step {
                case .pass: now = now + .milliseconds(1)
                case .addOne, .addMany:
                    for _ in 0..<(step == .addOne ? 1 : 40) where pace.add(now: now) != .flush {
                        #expect(pace.wait.milliseconds != nil, "nobody sends what was added: \(done)")
                    }
                case .tickAndSend: _ = pace.tick(now: now, isAnything: true)
                case .tickAfterAllWentOut: _ = pace.tick(now: now, isAnything: false)
                }
                walk(pace, at: now, done + [step])
            }
        }
        walk(FlushPace(lingers: lingers), at: 10, [])
        #expect(walks == 19_531)
    }

    @Test func questionsNeverWait() {
        var pace = FlushPace(lingers: false)
        for _ in 1...3 { #expect(pace.add(now: 10) == .flush) }
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: nil))
    }
}
