import Core
import PluginProtocol
import Testing
import TimeTestSupport

@testable import PluginHost

/// Which instances a process has, across its restarts.
struct InstanceSetTests {
    private static func message(
        _ library: UInt32,
        _ table: CreateMessage.Table,
        index: UInt32,
        _ configuration: String
    ) -> CreateMessage {
        CreateMessage(instance: 0, library: library, table: table, index: index, configuration: configuration)
    }

    private func instanceSet(_ count: Int) -> InstanceSet {
        var instanceSet = InstanceSet()
        let host = TestHost()
        for _ in 0..<count {
            let order = instanceSet.add(host, Self.message(0, .transport, index: 0, ""))
            _ = instanceSet.confirm(order.number)
        }
        return instanceSet
    }

    /// Starts to recreate the instances in a new process; returns their numbers.
    private func remake(_ instanceSet: inout InstanceSet) -> [UInt32] {
        instanceSet.startRemaking().map(\.number).filter { instanceSet.beginRemaking($0) }
    }

    @Test func aNewProcessMakesWhatTheFormerHad() {
        var instanceSet = instanceSet(2)
        _ = instanceSet.add(TestHost(), Self.message(0, .filter, index: 0, ""))
        // The third was never created, so its own creation continues.
        #expect(remake(&instanceSet) == [1, 2])
        instanceSet.giveUp(2)
        #expect(
            instanceSet.isPresent(1) && !instanceSet.isPresent(2) && !instanceSet.takesDeliveries(2)
                && !instanceSet.isPresent(3)
        )
        #expect(instanceSet.begin().leftovers == [])
        #expect(remake(&instanceSet) == [1, 2] && instanceSet.takesDeliveries(2))
    }

    @Test func whatIsDestroyedBeforeItIsRemadeIsNotMade() {
        var instanceSet = instanceSet(2)
        #expect(instanceSet.startRemaking().map(\.number) == [1, 2])
        #expect(instanceSet.beginDestruction(2, isRunning: false) == false)
        instanceSet.remove(2)
        #expect(instanceSet.beginRemaking(1) && !instanceSet.beginRemaking(2))
        #expect(instanceSet.begin().leftovers == [])
    }

    /// The process has it by then, and works only later.
    @Test func whatIsDestroyedAfterItWasRemadeIsLeftOver() {
        var instanceSet = instanceSet(2)
        #expect(remake(&instanceSet) == [1, 2])
        #expect(instanceSet.beginDestruction(1, isRunning: false) == false)
        instanceSet.remove(1)
        #expect(instanceSet.begin().leftovers == [1])
        #expect(instanceSet.begin().leftovers == [])
        #expect(remake(&instanceSet) == [2])
    }

    /// The wait for the answer ends with the process. The next process may exist before the roster records that the
    /// instance is gone.
    @Test func whatIsBeingDestroyedWhenTheProcessDiesIsNotMade() {
        var instanceSet = instanceSet(2)
        #expect(instanceSet.beginDestruction(1, isRunning: true) == true)
        #expect(remake(&instanceSet) == [2])
        instanceSet.remove(1)
        #expect(instanceSet.begin().leftovers == [] && instanceSet.host(of: 1) == nil)
    }

    @Test func aStartThatFailsLeavesNothingOver() {
        var instanceSet = instanceSet(2)
        #expect(remake(&instanceSet) == [1, 2])
        _ = instanceSet.beginDestruction(1, isRunning: false)
        instanceSet.remove(1)
        #expect(remake(&instanceSet) == [2])
        #expect(instanceSet.begin().leftovers == [])
    }

    @Test func whoMissesAChangeIsToldAll() {
        var instanceSet = instanceSet(1)
        #expect(instanceSet.hears(1, isRunning: true) && !instanceSet.hears(1, isRunning: false))
        _ = remake(&instanceSet)
        #expect(instanceSet.begin().stale.count == 1 && instanceSet.begin().stale.isEmpty)
        instanceSet.remove(1)
        #expect(!instanceSet.hears(1, isRunning: false) && instanceSet.isEmpty && instanceSet.begin().stale.isEmpty)
    }

    @Test func aPartHasTheInstancesOfOneLibrary() {
        var instanceSet = InstanceSet()
        let host = TestHost()
        for library in [0, 1, 1, 1] as [UInt32] {
            _ = instanceSet.add(host, Self.message(library, .transport, index: 7, "c"))
        }
        for instance in 1...3 as ClosedRange<UInt32> { _ = instanceSet.confirm(instance) }
        var part = instanceSet.part(of: 1)
        #expect(part.present == [2, 3] && part.host(of: 1) == nil && part.host(of: 4) == nil)
        #expect(part.startRemaking().map { [$0.number, $0.library, $0.message.index] } == [[2, 0, 7], [3, 0, 7]])
        #expect(part.add(host, Self.message(0, .transport, index: 0, "")).number == 5)
    }
}

/// Whether a process is wanted and runs.
struct ProcessLifeTests {
    @Test func whoNeedsOneThatRestsStartsIt() {
        var life = ProcessLife(RestartPolicy())
        #expect(life.due == nil && life.need(now: 5, within: .seconds(1)) == .starts && life.due == 5)
        #expect(
            life.begin(now: 6) && life.need(now: 7, within: .seconds(1)) == .runs && life.due == nil
                && life.startedAt == 6
        )
        #expect(life.rest() && !life.rest() && life.need(now: 8, within: .seconds(1)) == .starts)
        #expect(life.rest() == false, "it is being started for somebody")
    }

    /// From the first request for an instance until the last instance is gone.
    @Test func oneThatIsNeededDoesNotRest() {
        var life = ProcessLife(RestartPolicy())
        _ = life.begin(now: 0)
        for _ in 1...2 { life.enter() }
        #expect(life.rest() == false)
        life.leave()
        #expect(life.rest() == false)
        life.leave()
        #expect(life.rest() == true)
    }

    @Test func afterDeathsItIsStartedAgainUntilItPauses() {
        var life = ProcessLife(RestartPolicy())
        var crashes = 0
        while life.reported != .pausing {
            _ = life.begin(now: 0)
            #expect(life.died("died", at: 0, startedAt: 0, isExplained: false) != nil)
            crashes += 1
            #expect(life.due != nil)
        }
        #expect(life.crashes == crashes && crashes == 5 && life.lastCrash == "died")
        #expect(life.need(now: 1, within: .minutes(5)) == .fails && life.due == 60_000)
    }

    @Test func whoCannotWaitForTheNextStartFailsAtOnce() {
        var life = ProcessLife(RestartPolicy())
        for _ in 1...2 {
            _ = life.begin(now: 0)
            _ = life.died("died", at: 0, startedAt: 0, isExplained: false)
        }
        #expect(life.due == 1_000)
        #expect(life.need(now: 1, within: .milliseconds(999)) == .fails)
        #expect(life.need(now: 1, within: .seconds(1)) == .starts)
    }

    @Test func aPartStartsAtOnceWhereItIsUsed() {
        var life = ProcessLife(RestartPolicy())
        _ = life.begin(now: 0)
        for _ in 1...5 { _ = life.died("died", at: 0, startedAt: 0, isExplained: false) }
        #expect(life.reported == .pausing)
        let (used, unused) = (life.part(users: 1, now: 9), life.part(users: 0, now: 9))
        #expect(used.due == 9 && used.crashes == 5 && used.lastCrash == "died")
        #expect(unused.due == nil && unused.reported == .running)
    }

    @Test func oneThatIsStoppedNeverRunsAgain() {
        var life = ProcessLife(RestartPolicy())
        _ = life.begin(now: 0)
        life.stop()
        #expect(
            life.isStopped && !life.begin(now: 1) && life.need(now: 1, within: .seconds(1)) == .fails && life.due == nil
        )
        #expect(life.died("died", at: 1, startedAt: 0, isExplained: false) == nil && life.crashes == 0)
    }
}
