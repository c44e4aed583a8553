import CIsolation
import CarillonABI
import Core
import Glibc
import PluginProtocol
import Testing
import TimeTestSupport

@testable import PluginHost

/// When a process is started again.
struct RestartPolicyTests {
    private func next(_ policy: inout RestartPolicy, at now: Deadline, isExplained: Bool = false) -> RestartPolicy.Next
    {
        policy.died(at: now, startedAt: now - .seconds(1), isExplained: isExplained)
    }

    @Test func restartsImmediatelyThenAfterGrowingPauses() {
        var policy = RestartPolicy()
        #expect(next(&policy, at: 0) == .restart(after: .zero))
        #expect(next(&policy, at: 1_000) == .restart(after: .seconds(1)))
        #expect(next(&policy, at: 3_000) == .restart(after: .seconds(2)))
        #expect(next(&policy, at: 6_000) == .restart(after: .seconds(4)))
        #expect(next(&policy, at: 11_000) == .pause(.minutes(1)))
    }

    @Test func processThatRanForAMinuteRestartsImmediately() {
        var policy = RestartPolicy()
        for _ in 0..<3 { _ = next(&policy, at: 0) }
        #expect(policy.died(at: 200_000, startedAt: 100_000, isExplained: false) == .restart(after: .zero))
    }

    @Test func crashesThatIdentifyACulpritCauseNoPause() {
        var policy = RestartPolicy()
        for _ in 0..<18 { #expect(next(&policy, at: 0, isExplained: true) == .restart(after: .zero)) }
        #expect(next(&policy, at: 0) == .restart(after: .zero))
    }

    @Test func manyExplainedCrashesCauseAPause() {
        var policy = RestartPolicy()
        for _ in 0..<20 { _ = next(&policy, at: 0, isExplained: true) }
        let later = (0..<8).map { _ in next(&policy, at: 0, isExplained: true) }
        #expect(later.last == .pause(.minutes(1)))
    }
}

/// Processes that hang are noticed.
struct CallWatchTests {
    private let idle = PongMessage.Call(thread: 7, kind: 0, id: 0, milliseconds: 0)

    private func pong(_ kind: FrameKind, _ milliseconds: UInt64) -> PongMessage {
        let call = PongMessage.Call(thread: 7, kind: UInt32(kind.rawValue), id: 1, milliseconds: milliseconds)
        return PongMessage(deliveries: kind == .deliver ? call : idle, questions: kind == .deliver ? idle : call)
    }

    private func watch() -> CallWatch { CallWatch(deadline: .seconds(10), questionDeadline: .seconds(1)) }

    @Test func aBusyProcessIsAskedOften() {
        var watch = watch()
        #expect(watch.tick(now: 0, isBusy: false) == .nothing)
        #expect(watch.tick(now: 0, isBusy: true) == .ping)
        #expect(watch.tick(now: 500, isBusy: true) == .nothing)
        #expect(watch.receive(pong(.deliver, 10_000), now: 600) == .nothing)
        #expect(watch.tick(now: 700, isBusy: true) == .ping)
    }

    /// It may have timers.
    @Test func anIdleProcessIsAskedSeldom() {
        var watch = watch()
        for now: Deadline in [0, 5_000, 9_999] { #expect(watch.tick(now: now, isBusy: false) == .nothing) }
        #expect(watch.tick(now: 10_000, isBusy: false) == .ping)
        _ = watch.receive(PongMessage(deliveries: idle, questions: idle), now: 10_001)
        #expect(watch.tick(now: 19_999, isBusy: false) == .nothing)
        #expect(watch.tick(now: 20_000, isBusy: false) == .ping)
        let timer = PongMessage.Call(thread: 7, kind: PongMessage.Call.timer, id: 1, milliseconds: 10_001)
        let reason = "did not return from a timer within 10 s"
        let action = watch.receive(PongMessage(deliveries: timer, questions: idle), now: 20_001)
        #expect(action == .abort(thread: 7, reason: reason))
    }

    @Test(arguments: [(FrameKind.deliver, 10_001, "10 s"), (.decide, 1_001, "1 s"), (.validate, 1_001, "1 s")])
    func aCallThatTakesTooLongIsAborted(kind: FrameKind, milliseconds: UInt64, limit: String) {
        var watch = watch()
        _ = watch.tick(now: 0, isBusy: true)
        let reason = "did not return from \(kind) within \(limit)"
        #expect(watch.receive(pong(kind, milliseconds), now: 0) == .abort(thread: 7, reason: reason))
        #expect(watch.tick(now: 299, isBusy: true) == .nothing)
        #expect(watch.tick(now: 300, isBusy: true) == .kill(reason: reason))
    }

    @Test func aProcessThatDoesNotAnswerIsKilled() {
        var watch = watch()
        _ = watch.tick(now: 0, isBusy: true)
        #expect(watch.tick(now: 10_000, isBusy: true) == .nothing)
        #expect(watch.tick(now: 10_001, isBusy: true) == .kill(reason: "did not answer within 10 s"))
    }
}

/// Processor time on average.
struct ProcessorMeterTests {
    @Test func shortProcessorBurstIsAllowed() {
        var meter = ProcessorMeter(limit: 0.5)
        for second in 0...60 {
            let used: Duration = second < 4 ? .seconds(second) : .seconds(4)
            #expect(meter.isExceeded(used: used, now: Deadline(milliseconds: Int64(second) * 1_000)) == false)
        }
    }

    @Test func processorLimitAppliesOverTenSeconds() {
        var meter = ProcessorMeter(limit: 0.5)
        let exceeded = (0...20).first { second in
            meter.isExceeded(used: .milliseconds(second * 600), now: Deadline(milliseconds: Int64(second) * 1_000))
        }
        #expect(exceeded == 10)
    }

    @Test func processorUseIsUnlimitedWithoutALimit() {
        var meter = ProcessorMeter(limit: nil)
        #expect(meter.isExceeded(used: .seconds(1_000), now: 1) == false)
    }
}

/// How a death reads.
struct ProcessEndTests {
    private let modules = [DescriptorMessage.Module(name: "/plugins/libx.so", start: 0x1000, size: 0x1000)]

    private func report(_ addresses: [UInt64], magic: UInt32 = UInt32(CARILLON_CRASH_MAGIC)) -> [UInt8] {
        var report = carillon_crash_report()
        report.magic = magic
        report.signal = SIGSEGV
        report.counter = addresses[0]
        report.kind = UInt32(FrameKind.deliver.rawValue)
        report.id = 5
        report.frame_count = UInt32(addresses.count - 1)
        withUnsafeMutableBytes(of: &report.frames) { frames in
            for (index, address) in addresses.dropFirst().enumerated() {
                frames.storeBytes(of: address, toByteOffset: index * 8, as: UInt64.self)
            }
        }
        return withUnsafeBytes(of: report) { Array($0) }
    }

    @Test func aCrashNamesTheLibrary() {
        let bytes = report([0x1012]) + report([0x1012, 0x1040, 0x99]) + [1, 2, 3]
        let crash = CrashReport(reading: bytes)
        #expect(crash?.id == 5)
        let end = ProcessExit(signal: SIGSEGV, status: 0, crash: crash)
        #expect(
            end.text(modules) == "crashed with SIGSEGV in libx.so+0x12 < libx.so+0x40 < 0x99, called for deliver"
        )
    }

    @Test func aCrashWhileALibraryLoadsNamesItToo() {
        var found = carillon_crash_modules()
        found.magic = UInt32(CARILLON_CRASH_MODULES_MAGIC)
        found.count = 900
        found.modules.0.start = 0x7000
        found.modules.0.size = 0x100
        withUnsafeMutableBytes(of: &found.modules.0.name) { $0.copyBytes(from: Array("bad\n.so".utf8)) }
        let modules = withUnsafeBytes(of: found) { Array($0) }
        let crash = CrashReport(reading: report([0x7012]) + modules + report([0x7012, 0x1040]) + modules)
        let end = ProcessExit(signal: SIGSEGV, status: 0, crash: crash)
        #expect(end.text(self.modules).hasPrefix("crashed with SIGSEGV in bad\u{FFFD}.so+0x12 < libx.so+0x40"))
        // A truncated list of modules is ignored.
        #expect(CrashReport(reading: report([0x7012]) + modules.dropLast())?.modules == [])
        #expect(CrashReport(reading: modules) == nil)
    }

    @Test func otherProcessEndsAreDescribed() {
        #expect(ProcessExit(signal: 0, status: 3).text([]) == "exited with status 3")
        #expect(ProcessExit(signal: SIGKILL, status: 0).text([]) == "was ended by SIGKILL")
        #expect(ProcessExit(signal: SIGKILL, status: 0, reason: "did not answer").text([]) == "did not answer")
    }

    @Test func invalidCrashReportIsIgnored() {
        #expect(CrashReport(reading: report([1], magic: 0)) == nil)
        #expect(CrashReport(reading: [1, 2]) == nil)
        var endless = report([0x1012])
        let count = MemoryLayout<carillon_crash_report>.offset(of: \.frame_count) ?? 0
        for byte in 0..<4 { endless[count + byte] = 0xff }
        #expect(CrashReport(reading: endless)?.addresses.count == Int(CARILLON_CRASH_FRAMES) + 1)
    }
}

/// Deliveries that wait or are in progress when a process crashes.
struct DeliveryTableTests {
    private func deliveryTable(isRunning: Bool = true) -> DeliveryTable {
        var deliveryTable = DeliveryTable()
        if isRunning { deliveryTable.started() }
        return deliveryTable
    }

    @Test func deliveriesWaitWithoutAProcess() {
        var deliveryTable = deliveryTable(isRunning: false)
        #expect(deliveryTable.admit(1, instance: 1, ticket: 10, frame: [1]) == .wait)
        #expect(deliveryTable.admit(2, instance: 1, ticket: 11, frame: [2]) == .wait)
        #expect(deliveryTable.takeNext() == [])
        deliveryTable.started()
        #expect(deliveryTable.takeNext() == [[1], [2]])
        #expect(deliveryTable.admit(3, instance: 1, ticket: 12, frame: [3]) == .send)
        #expect(deliveryTable.end(3, of: 1)?.ticket == 12)
        #expect(deliveryTable.end(3, of: 1) == nil && deliveryTable.end(1, of: 2) == nil)
    }

    @Test func activeDeliveriesAreRetriedFirstAndAloneAfterACrash() {
        var deliveryTable = deliveryTable()
        for id in 1...3 { _ = deliveryTable.admit(UInt64(id), instance: 1, ticket: UInt64(id), frame: [UInt8(id)]) }
        #expect(deliveryTable.died(named: 2) == nil)
        #expect(deliveryTable.admit(4, instance: 1, ticket: 4, frame: [4]) == .wait)
        deliveryTable.started()
        #expect(deliveryTable.takeNext() == [[2]] && deliveryTable.takeNext() == [] && deliveryTable.isTryingSuspect)
        #expect(deliveryTable.died() == nil)
        deliveryTable.started()
        for id in [1, 3] as [UInt64] {
            #expect(deliveryTable.takeNext() == [[UInt8(id)]])
            #expect(deliveryTable.end(id, of: 1) != nil)
        }
        #expect(deliveryTable.takeNext() == [[2]])
        #expect(deliveryTable.died()?.ticket == 2)
        deliveryTable.started()
        #expect(deliveryTable.takeNext() == [[4]])
    }

    @Test func deliveryWithARequestInFlightWaitsForItsEnd() {
        var deliveryTable = deliveryTable()
        _ = deliveryTable.admit(1, instance: 1, ticket: 1, frame: [1])
        #expect(deliveryTable.beginRequest(for: 1) == [1])
        _ = deliveryTable.died()
        deliveryTable.started()
        #expect(deliveryTable.takeNext() == [])
        deliveryTable.endRequest(for: [1])
        #expect(deliveryTable.takeNext() == [[1]])
    }

    /// Only deliveries of the library that crashed the process are tried separately.
    @Test func separatedLibraryKeepsItsDeliveries() {
        var deliveryTable = deliveryTable()
        for id in 1...4 {
            _ = deliveryTable.admit(UInt64(id), instance: UInt32(id % 2), ticket: UInt64(id), frame: [UInt8(id)])
        }
        #expect(deliveryTable.beginRequest(for: 4) == [4])
        _ = deliveryTable.died()
        _ = deliveryTable.admit(5, instance: 1, ticket: 5, frame: [5])
        var guilty = deliveryTable.part(of: [0], mayBeGuilty: true)
        var innocent = deliveryTable.part(of: [1], mayBeGuilty: false)
        #expect(guilty.count == 2 && innocent.count == 3 && innocent.takeNext() == [])
        innocent.started()
        #expect(innocent.takeNext() == [[1], [3], [5]] && innocent.mayReceive)
        #expect(innocent.admit(6, instance: 1, ticket: 6, frame: [6]) == .send)
        guilty.started()
        #expect(guilty.takeNext() == [[2]] && !guilty.mayReceive)
        #expect(guilty.end(2, of: 0)?.ticket == 2 && guilty.takeNext() == [])
        guilty.endRequest(for: [4])
        #expect(guilty.takeNext() == [[4]] && guilty.cancel(instance: 0, ticket: 4) == .forward(4))
    }

    /// Deliveries of one batch are tried separately, but not before the request that carried it has ended.
    @Test func aBatchIsTriedOneByOne() {
        var deliveryTable = deliveryTable()
        for id in 1...3 { _ = deliveryTable.admit(UInt64(id), instance: 1, ticket: UInt64(id), frame: [UInt8(id)]) }
        deliveryTable.handOutTogether([1, 2, 3])
        #expect(deliveryTable.mayReceive)
        #expect(deliveryTable.beginRequest(for: 1) == [1, 2, 3])
        #expect(deliveryTable.end(1, of: 1) != nil)
        _ = deliveryTable.died()
        deliveryTable.started()
        #expect(deliveryTable.takeNext() == [] && !deliveryTable.mayReceive)
        deliveryTable.endRequest(for: [1, 2, 3])
        #expect(deliveryTable.takeNext() == [[2]])
        #expect(deliveryTable.beginRequest(for: 2) == [2])
        #expect(deliveryTable.end(2, of: 1) != nil && deliveryTable.takeNext() == [[3]])
    }

    @Test func oversizedBatchLeavesNoEntries() {
        var deliveryTable = deliveryTable(isRunning: false)
        for id in 1...2 {
            #expect(deliveryTable.admit(UInt64(id), instance: 1, ticket: UInt64(id), frame: [1]) == .wait)
        }
        for id in 1...3 { deliveryTable.withdraw(UInt64(id)) }
        deliveryTable.started()
        #expect(deliveryTable.count == 0 && deliveryTable.takeNext() == [])
    }

    @Test func cancelledDeliveriesEndUnlessTheProcessHasThem() {
        var deliveryTable = deliveryTable()
        _ = deliveryTable.admit(1, instance: 1, ticket: 10, frame: [1])
        #expect(deliveryTable.cancel(instance: 1, ticket: 10) == .forward(1))
        _ = deliveryTable.died()
        #expect(deliveryTable.cancel(instance: 1, ticket: 10) == .ended)
        #expect(deliveryTable.cancel(instance: 1, ticket: 10) == .unknown)
        deliveryTable.started()
        #expect(deliveryTable.takeNext() == [] && deliveryTable.count == 0)
    }

    @Test func waitingFramesAreBounded() {
        var deliveryTable = deliveryTable(isRunning: false)
        let frame = [UInt8](repeating: 0, count: 1 << 20)
        let admitted = (1...20).prefix {
            deliveryTable.admit(UInt64($0), instance: 1, ticket: UInt64($0), frame: frame) == .wait
        }
        #expect(admitted.count == 8)
    }

    @Test func removedInstanceEndsItsDeliveries() {
        var deliveryTable = deliveryTable()
        _ = deliveryTable.admit(1, instance: 1, ticket: 10, frame: [1])
        _ = deliveryTable.admit(2, instance: 2, ticket: 10, frame: [2])
        #expect(deliveryTable.endAll(of: 1).map(\.ticket) == [10])
        #expect(deliveryTable.count == 1)
    }
}
