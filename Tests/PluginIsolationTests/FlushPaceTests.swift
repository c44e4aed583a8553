import PluginIsolation
import Testing
import TimeTestSupport
import Units

/// When frames for a process are sent.
struct FlushPaceTests {
    private typealias Wait = FlushPace.Wait

    @Test func aFrameAfterSilenceGoesAtOnce() {
        var pace = FlushPace(lingers: true)
        #expect(pace.add(now: 10) == .flush)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: nil))
        #expect(pace.add(now: 11) == .flush)
    }

    @Test func theNextOneWaitsForTheThreadWhichIsWokenOnce() {
        var pace = FlushPace(lingers: true)
        _ = pace.add(now: 10)
        #expect(pace.add(now: 10) == .wake)
        #expect(pace.add(now: 10) == .wait)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: 1))
        #expect(pace.tick(now: 10, isAnything: true) == false)
        #expect(pace.tick(now: 11, isAnything: true) == true)
        // Whatever comes now goes with the next tick, and wakes nobody.
        #expect(pace.add(now: 12) == .wait)
        #expect(pace.tick(now: 12, isAnything: true) == true)
    }

    @Test func aTickThatFindsNothingIsTheLast() {
        var pace = FlushPace(lingers: true)
        for _ in 1...2 { _ = pace.add(now: 10) }
        #expect(pace.tick(now: 11, isAnything: true) == true)
        #expect(pace.tick(now: 12, isAnything: false) == false)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: nil))
        #expect(pace.add(now: 13) == .flush)
    }

    /// Answers wait for the ticks too, as long as much comes together, and no longer.
    @Test func muchInATickMakesTheTicksSlowerAndAnswersWait() {
        var pace = FlushPace(lingers: true)
        for _ in 0...16 { _ = pace.add(now: 10) }
        #expect(pace.tick(now: 11, isAnything: true) == true)
        #expect(pace.wait == Wait(readsAtOnce: false, milliseconds: 4))
        _ = pace.add(now: 12)
        #expect(pace.tick(now: 15, isAnything: true) == true)
        #expect(pace.wait == Wait(readsAtOnce: true, milliseconds: 1))
    }

    /// A longer tick brings more: half of what makes it long keeps it so.
    @Test(arguments: [(31, true), (32, false)]) func slowTicksEndWhenLessComesTogether(frames: Int, readsAtOnce: Bool) {
        var pace = FlushPace(lingers: true)
        for _ in 0...16 { _ = pace.add(now: 10) }
        _ = pace.tick(now: 11, isAnything: true)
        for _ in 0..<frames { _ = pace.add(now: 12) }
        #expect(pace.tick(now: 15, isAnything: true) == true)
        #expect(pace.wait.readsAtOnce == readsAtOnce)
    }

    /// The clock is read only to say whether a frame goes at once.
    @Test func whatWaitsForATickReadsNoClock() {
        var pace = FlushPace(lingers: true)
        for _ in 0...1 { _ = pace.add(now: 10) }
        var isRead = false
        func clock() -> Deadline {
            isRead = true
            return 10
        }
        #expect(pace.add(now: clock()) == .wait)
        #expect(!isRead)
    }

    /// Whatever comes in which order: input is read, at once or at the next tick, and what was left to a tick gets one.
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
