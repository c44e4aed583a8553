import Core
import Testing

@Suite struct WakeUpsTests {
    @Test func wakeUpOutsideABlockRunsImmediately() {
        var done = 0
        WakeUps.ask { done += 1 }
        #expect(done == 1)
    }

    @Test func wakeUpsInsideABlockRunAtItsEndInOrder() {
        var done: [Int] = []
        WakeUps.together {
            WakeUps.ask { done.append(1) }
            WakeUps.together {
                WakeUps.ask { done.append(2) }
                #expect(done.isEmpty)
            }
            #expect(done.isEmpty)
            WakeUps.ask { done.append(3) }
        }
        #expect(done == [1, 2, 3])
        WakeUps.ask { done.append(4) }
        #expect(done.last == 4)
    }

    @Test func nestedWakeUpRunsImmediately() {
        var done: [Int] = []
        WakeUps.together {
            WakeUps.ask {
                WakeUps.ask { done.append(1) }
                done.append(2)
            }
        }
        #expect(done == [1, 2])
    }
}
