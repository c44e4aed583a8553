import CarillonABI
import Core
import Logging
import PluginProtocol
import Synchronization

/// Keeps the process of one or several plugins running: restarts it after a death, reloads its libraries and instances,
/// and resends its open deliveries.
///
/// If one of several plugins is at fault, or the restart would be delayed, each plugin gets a separate process from
/// then on, so that the others do not wait for the one that keeps crashing.
package final class ChildSupervisor: Sendable {
    private struct State {
        var life: ProcessLife
        var session: ChildSession?
        /// Callers that wait for a running process.
        var waiters: [Handover<ChildSession?>] = []
        /// The supervisors of the single libraries, once each has its own process.
        var parts: [ChildSupervisor] = []
    }

    let settings: IsolationSettings
    let table: InstanceTable
    private let libraries: ProcessLibraries
    private let log: Logger
    private let now: @Sendable () -> Deadline
    private let launch: @Sendable () throws(StartError) -> StartedProcess
    private let state: Mutex<State>
    private let keeper: RestartKeeper

    /// `launch` starts the process; nil: uses the program in `settings`.
    package init(
        settings: IsolationSettings,
        log: Logger,
        now: @escaping @Sendable () -> Deadline = Deadline.now,
        launch: (@Sendable () throws(StartError) -> StartedProcess)? = nil
    ) {
        self.settings = settings
        self.log = log
        self.now = now
        keeper = RestartKeeper(now: now)
        libraries = ProcessLibraries()
        let program = settings.program
        if let launch {
            self.launch = launch
        } else {
            self.launch = { () throws(StartError) -> StartedProcess in try ChildProcess.start(program) }
        }
        table = InstanceTable(now: now)
        state = Mutex(State(life: ProcessLife(RestartPolicy(unit: settings.pause))))
    }

    /// The supervisor of one library of `whole`.
    private init(_ libraries: ProcessLibraries, _ table: InstanceTable, _ life: ProcessLife, of whole: ChildSupervisor)
    {
        (settings, log, now, launch) = (whole.settings, whole.log, whole.now, whole.launch)
        self.libraries = libraries
        self.table = table
        keeper = RestartKeeper(now: now)
        state = Mutex(State(life: life))
    }

    private var startup: ChildStartup {
        let table = table
        return ChildStartup(
            settings: settings,
            launch: launch,
            handlers: ChildSession.Handlers(
                result: { frame, session throws(ProtocolError) in try table.receive(frame, from: session) },
                question: { frame, session throws(ProtocolError) in
                    try table.answerQuestion(frame, from: session)
                },
                isBusy: { table.isBusy },
                line: { [log] line in log.debug("A plugin's process wrote a line", metadata: ["line": "\(line)"]) },
                ended: { [weak self] end, session in self?.hasEnded(session, end) }
            ),
            now: now
        )
    }

    // MARK: Loading

    /// Loads libraries into a process, one after the other. A library that crashes the process is skipped, and the rest
    /// continues in a new process. Call this once, first.
    package func load(_ libraries: [IsolatedLibrary]) -> [Result<DescriptorMessage, LoadError>] {
        let (results, session) = self.libraries.load(libraries, with: startup)
        guard results.contains(where: { if case .success = $0 { true } else { false } }) else { return results }
        if let session { adopt(session) }
        keep()
        let missing = self.libraries.confinement.missing
        if settings.isSandboxed, !missing.isEmpty {
            log.warning(
                "A plugin's process is not fully sandboxed: the system does not support or permit it",
                metadata: ["plugins": "\(names)", "unconfined": "\(missing.joined(separator: ", "))"]
            )
        }
        return results
    }

    /// Makes the process of `session` the running one.
    private func adopt(_ session: ChildSession) {
        // Before its end can be noted, which would have no effect then.
        table.begin(session)
        let waiters = state.withLock { state -> [Handover<ChildSession?>]? in
            guard state.life.begin(now: now()) else { return nil }
            state.session = session
            defer { state.waiters = [] }
            return state.waiters
        }
        guard let waiters else { return session.close() }
        for waiter in waiters { waiter.give(session) }
        // It may have ended before it was adopted.
        if session.hasEnded, let end = session.end(within: .zero) { hasEnded(session, end) }
    }

    // MARK: Keeping

    private func keep() {
        keeper.start(
            { [self] in state.withLock { $0.life.isStopped ? .end : .restart(at: $0.life.due) } },
            restart: { [self] in restart() }
        )
    }

    private func restart() {
        let start = now()
        var opened: ChildSession?
        do throws(LoadError) {
            let session = try startup.open()
            opened = session
            try libraries.loadAgain(in: session, with: startup)
            for order in table.startRemaking() where table.beginRemaking(order.number) {
                order.host.willRemake()
                try create(order, in: session)
            }
            log.info("A plugin's process restarted", metadata: ["plugins": "\(names)", "process": "\(session.id)"])
            adopt(session)
        } catch {
            // It may still run, for example if a library was replaced.
            opened?.close()
            var isAccident = true
            if case .died(let end, _) = error { isAccident = end.isAccident }
            noteDeath(error.text, startedAt: start, isExplained: false, isAccident: isAccident, guilty: nil)
        }
    }

    /// Creates an instance again. If its plugin refuses now, the next restart tries again.
    private func create(_ order: InstanceOrder, in session: ChildSession) throws(LoadError) {
        let (status, _, said) = try startup.create(order, table.stateOfNewInstance(order), in: session)
        guard status != .CARILLON_OK else { return }
        table.giveUp(order.number)
        let words = PluginText.printable(said, limit: 512)
        log.error("A plugin now rejects the configuration that it accepted before", metadata: ["reason": "\(words)"])
    }

    private func hasEnded(_ session: ChildSession, _ end: ProcessExit) {
        let start = state.withLock { state -> Deadline? in
            guard state.session === session else { return nil }
            state.session = nil
            return state.life.startedAt
        }
        // Any other process was ended on purpose, or its caller notes the end.
        guard let start else { return }
        let named = end.crash.flatMap { $0.call == .deliver ? $0.id : nil }
        let guilty =
            end.crash.flatMap { libraries.guilty($0, session.modules) } ?? named.flatMap(table.library(ofDelivery:))
        let ended = table.end(session, named: named)
        noteDeath(
            end.text(session.modules),
            startedAt: start,
            isExplained: ended.wasAlone,
            isAccident: end.isAccident,
            guilty: guilty
        )
        ended.settle()
    }

    /// `guilty` is the library that caused the death; nil if unknown.
    private func noteDeath(
        _ text: String,
        startedAt start: Deadline,
        isExplained: Bool,
        isAccident: Bool,
        guilty: UInt32?
    ) {
        let (now, words) = (now(), "\(names) \(text)")
        let (next, crashes, parts) = state.withLock { state -> (RestartPolicy.Next?, Int, [ChildSupervisor]) in
            let next = state.life.died(words, at: now, startedAt: start, isExplained: isExplained)
            if next != nil, !isAccident || next != .restart(after: .zero) {
                state.parts = divide(state.life, guilty: guilty, now: now)
                if !state.parts.isEmpty { state.life.stop() }
            }
            return (next, state.life.crashes, state.parts)
        }
        guard let next else { return }
        log.error(
            "A plugin's process ended",
            metadata: ["plugins": "\(names)", "reason": "\(text)", "crashes": "\(crashes)"]
        )
        if !parts.isEmpty {
            log.warning("Each plugin of that process now gets a separate process", metadata: ["plugins": "\(names)"])
            for part in parts { part.keep() }
            failWaiters()
        } else if case .pause = next {
            log.critical(
                "A plugin's process keeps crashing; restarting it in a minute",
                metadata: ["plugins": "\(names)"]
            )
            failWaiters()
        }
        keeper.wake()
    }

    /// Supervisors of the single libraries if there are several; the caller must start each.
    private func divide(_ life: ProcessLife, guilty: UInt32?, now: Deadline) -> [ChildSupervisor] {
        let single = libraries.parts()
        guard single.count > 1 else { return [] }
        return zip(single, table.divide(among: single.count, guilty: guilty)).map { libraries, table in
            ChildSupervisor(libraries, table, life.part(users: table.instanceCount, now: now), of: self)
        }
    }

    private func failWaiters() {
        let waiters = state.withLock { state in
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.give(nil) }
    }

    // MARK: Using the process

    /// The supervisors of its libraries in order: one for each, or this one for all.
    package var supervisors: [ChildSupervisor] { state.withLock { $0.parts.isEmpty ? [self] : $0.parts } }

    /// The supervisor of the library with this number, and the library's number there.
    func supervisor(of library: UInt32) -> (supervisor: ChildSupervisor, library: UInt32) {
        state.withLock { $0.parts.isEmpty ? (self, library) : ($0.parts[Int(library)], 0) }
    }

    /// The running process, if any.
    var session: ChildSession? { state.withLock(\.session) }

    /// A running process. Waits up to `span` for it, and starts it if it rests. Returns nil immediately if its start is
    /// due later than that.
    func readySession(within span: Duration) -> ChildSession? {
        let waiter = Handover<ChildSession?>()
        let session = state.withLock { state -> ChildSession?? in
            switch state.life.need(now: now(), within: span) {
            case .runs: if let session = state.session { return session }
            case .fails: return .some(nil)
            case .starts: break
            }
            state.waiters.append(waiter)
            return nil
        }
        if let session { return session }
        keeper.wake()
        return waiter.take(within: span) ?? nil
    }

    /// Creates an instance. The text is the error message. ``destroy(_:)`` must follow, even if this fails.
    func create(_ order: InstanceOrder) -> (status: carillon_status, needs: UInt32, said: String) {
        state.withLock { $0.life.enter() }
        for _ in 0..<2 {
            guard let session = readySession(within: settings.deadline) else {
                return (.CARILLON_FAILED, 0, "its process does not run: \(report.lastCrash ?? "it is stopped")")
            }
            do throws(LoadError) {
                let made = try startup.create(order, table.stateOfNewInstance(order), in: session)
                guard made.status == .CARILLON_OK else { return made }
                if table.confirm(order.number, in: session) { return made }
            } catch {
                let text =
                    switch error {
                    case .died(let end, _): "its process \(end.text(session.modules))"
                    case .notStarted(let text): text
                    case .unloadable(let message): message.text
                    }
                return (.CARILLON_FAILED, 0, PluginText.printable(text, limit: 400))
            }
        }
        return (.CARILLON_FAILED, 0, "its process keeps crashing")
    }

    /// Ends an instance, and destroys it in the process if that has it.
    func destroy(_ instance: UInt32) {
        if let session = table.beginDestruction(instance) {
            _ = session.ask(.destroy, within: settings.deadline + ChildStartup.timeout) { body in
                InstanceMessage(instance: instance).write(to: &body)
            }
        }
        table.remove(instance)
        state.withLock { $0.life.leave() }
    }

    /// Waits until everything that the process wrote to standard error before its answer is logged.
    package func catchUp() {
        // The answer may overtake the same thread's next read, but the second answer cannot.
        for _ in 0..<2 {
            _ = session?.ask(.check, within: settings.questionDeadline) { body in
                CheckMessage.write(library: .max, index: 0, "", to: &body)
            }
        }
    }

    // MARK: Ending

    /// Ends the unused process; the next use restarts it.
    package func rest() {
        let session = state.withLock { state -> ChildSession? in
            guard let session = state.session, state.life.rest() else { return nil }
            state.session = nil
            return session
        }
        guard let session else { return }
        table.release(session)
        session.close()
    }

    /// Ends the process permanently.
    package func stop() {
        table.close()
        let (session, parts) = state.withLock { state in
            state.life.stop()
            defer { state.session = nil }
            return (state.session, state.parts)
        }
        session?.close()
        for part in parts { part.stop() }
        failWaiters()
        keeper.wake()
    }

    // MARK: Reporting

    private var names: String { libraries.names.joined(separator: ", ") }

    /// Whether the process has ended permanently.
    package var isStopped: Bool { state.withLock(\.life.isStopped) }

    /// The status of the process.
    package var report: PluginProcessReport {
        let (abandoned, plugins) = (table.abandoned, libraries.names)
        let confinement = libraries.confinement.present.joined(separator: ", ")
        return state.withLock { state in
            PluginProcessReport(
                plugins: plugins,
                process: state.session?.id,
                state: state.life.reported,
                crashes: state.life.crashes,
                lastCrash: state.life.lastCrash,
                abandoned: abandoned,
                confinement: confinement
            )
        }
    }
}
