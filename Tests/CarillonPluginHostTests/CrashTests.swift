import CIsolation
import CarillonABI
import Glibc
import PluginProtocol
import Testing

/// The reports about a crashed process.
@Suite struct CrashTests {
    /// Returns the last report of a crash, and the addresses in it.
    private func report(_ child: Child) throws -> (report: carillon_crash_report, addresses: [UInt64]) {
        var report = try #require(child.crashReports().last)
        #expect(report.magic == CARILLON_CRASH_MAGIC)
        let count = Int(report.frame_count)
        #expect(count <= Int(CARILLON_CRASH_FRAMES))
        let frames = withUnsafeBytes(of: &report.frames) { Array($0.bindMemory(to: UInt64.self).prefix(count)) }
        return (report, [report.counter] + frames)
    }

    private func guest() throws -> (child: Child, module: DescriptorMessage.Module) {
        let child = try Child()
        let path = try Guest.library()
        let descriptor = try child.load(path)
        _ = try child.create(1)
        return (child, try #require(descriptor.modules.first { $0.name == path }))
    }

    @Test(arguments: [("crash", SIGSEGV), ("abort", SIGABRT), ("null-call", SIGSEGV), ("overflow", SIGSEGV)])
    func aCrashIsReported(_ what: String, _ signal: Int32) throws {
        let (child, module) = try guest()
        child.deliver(7, what)
        #expect(child.end() == (signal, 0))
        let (report, addresses) = try report(child)
        #expect(report.signal == signal)
        #expect(report.id == 7 && report.kind == UInt32(FrameKind.deliver.rawValue))
        let isInside = addresses.contains { (module.start..<module.start + module.size).contains($0) }
        #expect(isInside, "\(addresses) in \(module)")
        #expect(addresses.count > 2)
        if what == "crash" { #expect(report.address == 16) }
    }

    @Test func aCrashOfAPluginsThreadIsReported() throws {
        let (child, module) = try guest()
        child.deliver(7, "crash-on-thread")
        #expect(child.end() == (SIGSEGV, 0))
        let (report, _) = try report(child)
        #expect(report.id == 0 && report.kind == 0)
        #expect((module.start..<module.start + module.size).contains(report.counter))
    }

    /// Outcomes that wait for the end of a batch are sent even then; otherwise the deliveries would repeat.
    @Test(arguments: [("crash", SIGSEGV), ("exit", 0)])
    func deliveriesCompletedBeforeACrashAreReported(_ what: String, _ signal: Int32) throws {
        let (child, _) = try guest()
        child.send { writer in
            for ticket in 1...50 { writer.deliver(UInt64(ticket), "complete") }
            writer.deliver(51, what)
            writer.deliver(52, "complete")
        }
        for ticket in 1...50 { #expect(try child.completed().ticket == ticket) }
        #expect(throws: Child.Ended.self) { try child.completed() }
        #expect(child.end() == (signal, 0))
    }

    @Test func aThreadThatHangsShowsItsStack() throws {
        let (child, module) = try guest()
        child.deliver(7, "hang")
        var pong = PongMessage(
            deliveries: .init(thread: 0, kind: 0, id: 0, milliseconds: 0),
            questions: .init(thread: 0, kind: 0, id: 0, milliseconds: 0)
        )
        while pong.deliveries.kind == 0 {
            child.ask(.ping, id: 1)
            pong = try child.answer(.pong).read { try PongMessage(reading: $0) }
        }
        // Deliveries run on the main thread, which gets signals to the process.
        #expect(pong.deliveries.thread == UInt32(child.process))
        kill(child.process, SIGABRT)
        #expect(child.end() == (SIGABRT, 0))
        let (report, _) = try report(child)
        #expect(report.signal == SIGABRT && report.id == 7)
        #expect((module.start..<module.start + module.size).contains(report.counter))
    }

    @Test func aFilterThatCrashesNamesItsQuestion() throws {
        let (child, _) = try guest()
        _ = try child.create(2, table: .filter)
        child.ask(.decide, id: 9) { writer in
            withCStrings(["crash"]) { texts in
                var call = carillon_filter_call()
                call.signal = texts[0]
                DecideMessage.write(instance: 2, call, to: &writer)
            }
        }
        #expect(child.end() == (SIGSEGV, 0))
        let (report, _) = try report(child)
        #expect(report.id == 9 && report.kind == UInt32(FrameKind.decide.rawValue))
    }
}
