import CarillonABI
import Dispatch
import Foundation
import Logging
import PluginIsolation
import PluginProtocol
import Synchronization
import Testing
import Units

/// Processes that are started again.
@Suite(.timeLimit(.minutes(1)))
struct ChildSupervisorTests {
    private static let descriptor = DescriptorMessage(
        id: "x",
        version: "1",
        abiMinor: 5,
        transports: [],
        filters: [],
        modules: [],
        confinement: 0
    )

    /// A supervisor of the processes that `next` returns, each of which says hello.
    private static func supervisor(_ next: @escaping @Sendable () throws -> ScriptedChild?) -> ChildSupervisor {
        var settings = IsolationSettings(program: "none")
        settings.pause = .minutes(1)
        return ChildSupervisor(
            settings: settings,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            launch: { () throws(StartError) -> StartedProcess in
                guard let child = try? next() else { throw StartError("there is no other") }
                child.hello()
                return child.started
            }
        )
    }

    /// The same, of these processes one after the other.
    private static func supervisor(_ children: [ScriptedChild]) -> ChildSupervisor {
        let waiting = Mutex(children[...])
        return supervisor { waiting.withLock { $0.popFirst() } }
    }

    /// The process loads and does what it is asked, on a thread of its own, until the router hangs up.
    private static func serve(_ child: ScriptedChild) {
        let thread = Thread {
            while let asked = try? child.nextAsked(), !asked.isEmpty {
                for (kind, id) in asked { obey(child, kind, id) }
            }
            child.exit(0)
        }
        thread.start()
    }

    private static func obey(_ child: ScriptedChild, _ kind: FrameKind, _ id: UInt64) {
        if kind == .load { return child.say(.loaded, id: id) { descriptor.write(to: &$0) } }
        child.say(.answered, id: id) { AnswerMessage.write(.CARILLON_OK, carillon_str(ptr: nil, len: 0), to: &$0) }
    }

    /// A host that is for ever, and calls `asked` when it is asked for a service.
    private static func host(_ asked: @escaping @Sendable () -> Void = {}) -> UnsafePointer<carillon_host> {
        final class Context {
            let asked: @Sendable () -> Void
            init(_ asked: @escaping @Sendable () -> Void) { self.asked = asked }
        }
        let host = UnsafeMutablePointer<carillon_host>.allocate(capacity: 1)
        host.initialize(to: carillon_host())
        host.pointee.host_data = Unmanaged.passRetained(Context(asked)).toOpaque()
        host.pointee.query = { host, _ in
            if let data = host?.pointee.host_data { Unmanaged<Context>.fromOpaque(data).takeUnretainedValue().asked() }
            return nil
        }
        return UnsafePointer(host)
    }

    private static func create(
        _ plugin: IsolatedPlugin,
        _ host: UnsafePointer<carillon_host>
    ) -> UnsafeMutableRawPointer? {
        var instance: UnsafeMutableRawPointer?
        let status = plugin.create(.transport, at: 0, host, carillon_str(ptr: nil, len: 0), &instance, nil)
        return status == .CARILLON_OK ? instance : nil
    }

    /// One whose library was replaced must not stay, or each try would leave a process.
    @Test func aProcessThatGetsNoLibraryEnds() throws {
        let (first, second) = (try ScriptedChild(), try ScriptedChild())
        let isReplaced = Atomic(false)
        let supervisor = Self.supervisor([first, second])
        defer { supervisor.stop() }
        Self.serve(first)
        let library = IsolatedLibrary(path: "/x.so") { isReplaced.load(ordering: .relaxed) ? "it was replaced" : nil }
        #expect(try supervisor.load([library])[0].get().id == "x")
        isReplaced.store(true, ordering: .relaxed)
        first.exit(3)
        #expect(second.isHungUpOn)
        second.exit(0)
        #expect(supervisor.report.state == .restarting && supervisor.report.process == nil)
    }

    /// It would live on there, and nobody could reach it any more.
    @Test func whatIsDestroyedDuringARestartIsDestroyedInTheNewProcess() throws {
        let (first, second) = (try ScriptedChild(), try ScriptedChild())
        Self.serve(first)
        let supervisor = Self.supervisor([first, second])
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: "/x.so")], into: supervisor)[0].get()
        let made = try (0..<3).map { _ in try #require(Self.create(plugin, Self.host())) }
        first.exit(3)
        for (kind, id) in try second.nextAsked() {
            #expect(kind == .load)
            Self.obey(second, kind, id)
        }
        let creation = try second.nextAsked()
        #expect(creation.map(\.kind) == [.create])
        // The first is just being made, the last not yet.
        IsolatedInstance.destroy(made[0])
        IsolatedInstance.destroy(made[2])
        for (kind, id) in creation { Self.obey(second, kind, id) }
        let next = try second.nextAsked()
        #expect(next.map(\.kind) == [.create])
        for (kind, id) in next { Self.obey(second, kind, id) }
        let last = try second.nextAsked()
        #expect(last.map(\.kind) == [.destroy])
        for (kind, id) in last { Self.obey(second, kind, id) }
        Self.serve(second)
        IsolatedInstance.destroy(made[1])
        withExtendedLifetime(plugin) {}
    }

    /// From the moment on when an instance is wanted its process may not rest.
    @Test func aProcessDoesNotRestWhileAnInstanceIsMade() throws {
        let child = try ScriptedChild()
        Self.serve(child)
        let supervisor = Self.supervisor([child])
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: "/x.so")], into: supervisor)[0].get()
        let instance = Self.create(plugin, Self.host { supervisor.rest() })
        #expect(instance != nil && supervisor.report.process != nil)
        IsolatedInstance.destroy(instance)
        supervisor.rest()
        #expect(supervisor.report.process == nil)
        withExtendedLifetime(plugin) {}
    }

    /// Whoever wants an instance gets it, in the process that is about to rest or in a new one.
    @Test func restingAndMakingInstancesAtOnceDoNotDisturbEachOther() throws {
        let starts = Atomic(0)
        let supervisor = Self.supervisor {
            starts.wrappingAdd(1, ordering: .relaxed)
            let child = try ScriptedChild()
            Self.serve(child)
            return child
        }
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: "/x.so")], into: supervisor)[0].get()
        let isDone = Atomic(false)
        let rests = DispatchGroup()
        let hasBegun = DispatchSemaphore(value: 0)
        DispatchQueue.global().async(group: rests) {
            hasBegun.signal()
            while !isDone.load(ordering: .relaxed) { supervisor.rest() }
        }
        hasBegun.wait()
        let host = Self.host()
        let made = (0..<200).count { number in
            let instance = Self.create(plugin, host)
            if instance != nil { IsolatedInstance.destroy(instance) }
            // However busy the machine is, it rests a few times.
            if number % 10 == 0 { supervisor.rest() }
            return instance != nil
        }
        isDone.store(true, ordering: .relaxed)
        rests.wait()
        #expect(made == 200)
        #expect(starts.load(ordering: .relaxed) > 1, "it never rested")
        #expect(supervisor.report.deaths == 0)
        withExtendedLifetime(plugin) {}
    }
}
