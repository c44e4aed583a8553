import Dispatch
import Logging
import PluginIsolation
import PluginProtocol
import Synchronization
import Testing
import Units

/// Processes that are started again.
@Suite(.timeLimit(.minutes(1)))
struct ChildSupervisorTests {
    /// Processes that say hello, one after the other.
    private static func launch(
        _ children: [ScriptedChild]
    ) -> @Sendable () throws(StartError) -> StartedProcess {
        let waiting = Mutex(children[...])
        return { () throws(StartError) -> StartedProcess in
            guard let child = waiting.withLock({ $0.popFirst() }) else { throw StartError("there is no other") }
            child.hello()
            return child.started
        }
    }

    /// One whose library was replaced must not stay, or each try would leave a process.
    @Test func aProcessThatGetsNoLibraryEnds() throws {
        let (first, second) = (try ScriptedChild(), try ScriptedChild())
        let isReplaced = Atomic(false)
        var settings = IsolationSettings(program: "none")
        settings.pause = .minutes(1)
        let supervisor = ChildSupervisor(
            settings: settings,
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
            launch: Self.launch([first, second])
        )
        defer { supervisor.stop() }
        DispatchQueue.global().async {
            guard let load = try? first.nextAsked().first else { return }
            let descriptor = DescriptorMessage(
                id: "x",
                version: "1",
                abiMinor: 5,
                transports: [],
                filters: [],
                modules: [],
                confinement: 0
            )
            first.say(.loaded, id: load.id) { descriptor.write(to: &$0) }
        }
        let library = IsolatedLibrary(path: "/x.so") { isReplaced.load(ordering: .relaxed) ? "it was replaced" : nil }
        #expect(try supervisor.load([library])[0].get().id == "x")
        isReplaced.store(true, ordering: .relaxed)
        first.exit(3)
        #expect(second.isHungUpOn)
        second.exit(0)
        #expect(supervisor.report.state == .restarting && supervisor.report.process == nil)
    }
}
