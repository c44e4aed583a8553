import CarillonABI
import Core
import Dispatch
import Foundation
import Logging
import PluginProtocol
import Synchronization
import Testing

@testable import PluginHost

/// Processes that are started again.
@Suite(.timeLimit(.minutes(1)))
struct ChildSupervisorTests {
    private static let descriptor = DescriptorMessage(id: "x", version: "1", abiMinor: 5, transports: [], filters: [])

    /// Returns a supervisor of the processes from `next`, each of which sends its greeting.
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

    /// The process loads plugins and answers questions on its own thread until the router hangs up.
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

    private static func create(_ plugin: IsolatedPlugin, _ host: TestHost = TestHost()) -> IsolatedInstance? {
        plugin.create(.transport, at: 0, configuration: "", for: host).instance
    }

    /// A process whose library was replaced must not stay, or each try would leave a process.
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

    /// Otherwise it would stay there, unreachable.
    @Test func instanceDestroyedDuringARestartIsDestroyedInTheNewProcess() throws {
        let (first, second) = (try ScriptedChild(), try ScriptedChild())
        Self.serve(first)
        let supervisor = Self.supervisor([first, second])
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: "/x.so")], into: supervisor)[0].get()
        let made = try (0..<3).map { _ in try #require(Self.create(plugin)) }
        first.exit(3)
        for (kind, id) in try second.nextAsked() {
            #expect(kind == .load)
            Self.obey(second, kind, id)
        }
        let creation = try second.nextAsked()
        #expect(creation.map(\.kind) == [.create])
        // The first is being created, the last not yet.
        made[0].destroy()
        made[2].destroy()
        for (kind, id) in creation { Self.obey(second, kind, id) }
        let next = try second.nextAsked()
        #expect(next.map(\.kind) == [.create])
        for (kind, id) in next { Self.obey(second, kind, id) }
        let last = try second.nextAsked()
        #expect(last.map(\.kind) == [.destroy])
        for (kind, id) in last { Self.obey(second, kind, id) }
        Self.serve(second)
        made[1].destroy()
        withExtendedLifetime(plugin) {}
    }

    /// The library that keeps crashing waits, and the other does not wait for it. One kill from outside is forgiven.
    @Test(arguments: [false, true]) func librariesAreSeparatedWhenTheirProcessDies(_ isKilled: Bool) async throws {
        let children = Mutex<[ScriptedChild]>([])
        let supervisor = Self.supervisor {
            let child = try ScriptedChild()
            Self.serve(child)
            children.withLock { $0.append(child) }
            return child
        }
        func end(_ number: Int) { children.withLock { isKilled ? $0[number].kill() : $0[number].exit(3) } }
        func arePresent(_ processes: Int) async -> Bool {
            await eventually {
                children.withLock(\.count) == processes && supervisor.supervisors.allSatisfy { $0.session != nil }
            }
        }
        let libraries = ["/a.so", "/b.so"].map { IsolatedLibrary(path: $0) }
        let plugins = try IsolatedPlugin.load(libraries, into: supervisor).map { try $0.get() }
        let made = try plugins.map { try #require(Self.create($0)) }
        if isKilled {
            end(0)
            #expect(await arePresent(2))
            #expect(supervisor.report.plugins == ["a.so", "b.so"] && supervisor.report.crashes == 1)
        }
        end(children.withLock(\.count) - 1)
        #expect(await arePresent(isKilled ? 4 : 3))
        let parts = supervisor.supervisors
        #expect(parts.map(\.report.plugins) == [["a.so"], ["b.so"]])
        end(children.withLock(\.count) - 1)
        #expect(await eventually { parts.count { $0.report.state == .restarting } == 1 })
        #expect(parts.count { $0.report.state == .running && $0.session != nil } == 1)
        for instance in made { instance.destroy() }
        #expect(parts.allSatisfy { $0.table.instanceCount == 0 })
        withExtendedLifetime(plugins) {}
    }

    /// The other library crashes its process while the instance is created.
    @Test func anInstanceIsMadeInTheProcessThatItsLibraryGets() throws {
        let first = try ScriptedChild()
        let starts = Atomic(0)
        let supervisor = Self.supervisor {
            guard starts.wrappingAdd(1, ordering: .relaxed).newValue > 1 else { return first }
            let child = try ScriptedChild()
            Self.serve(child)
            return child
        }
        let thread = Thread {
            for _ in 0..<2 { for (kind, id) in (try? first.nextAsked()) ?? [] { Self.obey(first, kind, id) } }
            _ = try? first.nextAsked()
            first.exit(3)
        }
        thread.start()
        let libraries = ["/a.so", "/b.so"].map { IsolatedLibrary(path: $0) }
        let plugins = try IsolatedPlugin.load(libraries, into: supervisor).map { try $0.get() }
        let instance = Self.create(plugins[1])
        #expect(instance != nil && supervisor.supervisors.count == 2)
        // The other one is not needed.
        #expect(supervisor.supervisors.map { $0.session != nil } == [false, true])
        instance?.destroy()
        withExtendedLifetime(plugins) {}
    }

    /// A process must not stop once an instance is requested.
    @Test func aProcessDoesNotRestWhileAnInstanceIsMade() throws {
        let child = try ScriptedChild()
        Self.serve(child)
        let supervisor = Self.supervisor([child])
        let plugin = try IsolatedPlugin.load([IsolatedLibrary(path: "/x.so")], into: supervisor)[0].get()
        let instance = Self.create(plugin, TestHost(asked: { supervisor.rest() }))
        #expect(instance != nil && supervisor.report.process != nil)
        instance?.destroy()
        supervisor.rest()
        #expect(supervisor.report.process == nil)
        withExtendedLifetime(plugin) {}
    }

    /// A request for an instance succeeds, in the process that is about to stop or in a new one.
    @Test func concurrentRestAndCreationDoNotConflict() throws {
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
        let host = TestHost()
        let made = (0..<200).count { number in
            let instance = Self.create(plugin, host)
            instance?.destroy()
            // However busy the machine is, it stops a few times.
            if number % 10 == 0 { supervisor.rest() }
            return instance != nil
        }
        isDone.store(true, ordering: .relaxed)
        rests.wait()
        #expect(made == 200)
        #expect(starts.load(ordering: .relaxed) > 1, "it never rested")
        #expect(supervisor.report.crashes == 0)
        withExtendedLifetime(plugin) {}
    }
}
