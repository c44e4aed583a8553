import Delivery
import Dispatch
import Logging
import Logs
import Operations
import Pipeline
import PluginHost
import Registry
import RelayPool
import RouterConfiguration
import Rules
import Synchronization
import Units
import YAMLReading

/// Reads the configuration anew and puts it in force between two batches: rules, apps with their credentials, defaults,
/// new plugins, the API's token. A broken configuration is refused as a whole, and the old one stays. Nothing in flight
/// is lost.
final class Reloader: Sendable {
    /// How long instances that serve no more may take for what they have: longer than the host waits for a delivery.
    private static let patienceWithFormer: Duration = .seconds(65)

    /// As it was at the start.
    private let configuration: Configuration
    private let reread: (@Sendable () throws(Diagnostics) -> Configuration)?
    private let plane: DataPlane
    private let apiToken: ActiveAPIToken
    private let announcer: Announcer
    private let serviceManager: ServiceManager?
    private let logger: Logger
    private let runningLog: RunningLog
    private let now: @Sendable () -> Timestamp
    private let refusal = Mutex<(mistakes: [Diagnostic], at: Timestamp)?>(nil)
    private let gate = ReloadGate()

    /// `reread` reads the configuration; nil where it came from no file.
    init(
        _ configuration: Configuration,
        reread: (@Sendable () throws(Diagnostics) -> Configuration)?,
        _ plane: DataPlane,
        apiToken: ActiveAPIToken,
        announcer: Announcer,
        serviceManager: ServiceManager?,
        logger: Logger,
        runningLog: RunningLog,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.runningLog, self.now) = (runningLog, now)
        self.configuration = configuration
        self.reread = reread
        self.plane = plane
        self.apiToken = apiToken
        self.announcer = announcer
        self.serviceManager = serviceManager
        self.logger = logger
    }

    private var settings: ActiveSettings { plane.settings }
    private var outgoing: Outgoing { plane.outgoing }

    /// Every mistake of a refused configuration is in the log, too.
    func reload() async -> ReloadResult {
        guard gate.enter() else { return .busy }
        return await readAnew()
    }

    /// The same at a signal, whose sender does not try again: while another reload is under way, the configuration is
    /// read once more behind it.
    func reloadAtSignal() async {
        guard gate.enterOrAsk() else {
            return logger.info("Another reload is under way; the configuration is read once more behind it")
        }
        _ = await readAnew()
    }

    /// For whoever has the gate; returns what came of the last reading.
    private func readAnew() async -> ReloadResult {
        while true {
            serviceManager?.reloading(monotonicMicroseconds: DispatchTime.now().uptimeNanoseconds / 1_000)
            // tzdata may have been updated.
            TimeZones.system.reread()
            let result = await reloaded()
            tell(result)
            if gate.leave() { return result }
        }
    }

    /// The mistakes that refused the last reload, and its time; nil if the last reload succeeded or there was none.
    var refused: (mistakes: [Diagnostic], at: Timestamp)? { refusal.withLock(\.self) }

    private func tell(_ result: ReloadResult) {
        switch result {
        case .done(let restart, let warnings, _):
            refusal.withLock { $0 = nil }
            logger.notice("The configuration was read anew and is in force")
            logger.warn(of: warnings)
            if !restart.isEmpty {
                logger.warning(
                    "Some of what changed takes effect with a restart",
                    metadata: ["keys": "\(restart.joined(separator: ", "))"]
                )
            }
            serviceManager?.ready("Serving, with the configuration read anew")
        case .refused(let mistakes):
            // Without a file a restart does not fail.
            if reread != nil { refusal.withLock { $0 = (mistakes.all, now()) } }
            for mistake in mistakes.all {
                logger.error("The new configuration is refused", metadata: ["mistake": "\(mistake)"])
            }
            serviceManager?.ready("Serving, with the old configuration: the new one has mistakes")
        case .busy:
            break
        }
    }

    private func reloaded() async -> ReloadResult {
        let formerFilters = settings.filters
        let candidate: ReloadCandidate
        do {
            candidate = try await prepare()
            do {
                try await adopt(candidate)
            } catch {
                candidate.discard()
                throw error
            }
        } catch let mistakes as Diagnostics {
            return .refused(mistakes)
        } catch {
            return .refused(Diagnostics([Diagnostic(file: configuration.storePath, message: "\(error)")]))
        }
        await rereadRegistrations(candidate.configuration.access)
        if let token = candidate.apiToken { apiToken.replace(by: token) }
        runningLog.levels.reset()
        runningLog.apply(candidate.configuration.log)
        let leaving = outgoing.transports.replace(by: candidate.transports)
        let reloaded = configuration.reloaded(from: candidate.configuration)
        settings.replace(by: reloaded, candidate.rules, candidate.filters)
        plane.relays.pool.ask(for: configuration.relayWishes(of: candidate.rules, lists: candidate.filters.lists))
        plane.courier.resume()
        for instance in leaving {
            Task { [outgoing] in await Self.retire(instance, of: outgoing.plugins, outgoing.transports) }
        }
        outgoing.plugins.letGo(of: formerFilters.instances(without: candidate.filters), within: .seconds(5))
        await outgoing.transports.refreshStatuses()
        announcer.announce()
        return .done(
            restart: configuration.keysThatTakeARestart(in: candidate.configuration),
            warnings: candidate.rules.warnings
                + FilterWarnings(reloaded, candidate.rules, candidate.filters.all).found,
            refused: candidate.refused
        )
    }

    private func prepare() async throws -> ReloadCandidate {
        guard let reread else {
            throw Diagnostics([
                Diagnostic(file: "environment", message: "the configuration came from no file; restart to change it")
            ])
        }
        // Files and plugins may take their time, which the threads that tasks share have not.
        return try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { [outgoing, filters = settings.filters, hasAPI = apiToken.value != nil] in
                continuation.resume(
                    with: Result { try ReloadCandidate(try reread(), outgoing, filters, hasAPI: hasAPI) }
                )
            }
        }
    }

    /// What new plugins say about their platforms, for registrations, and who may register.
    private func rereadRegistrations(_ access: Configuration.Access) async {
        await withCheckedContinuation { continuation in
            // The disk may take its time, which the threads that tasks share have not.
            DispatchQueue.global().async { [registry = plane.registry, outgoing, logger] in
                do {
                    try registry.replacePlatforms(with: outgoing.plugins.platformCatalog)
                    try registry.configureAccess(access.mode, access.rules)
                } catch {
                    logger.error(
                        "Registrations could not be read for the new plugins",
                        metadata: ["error": "\(error)"]
                    )
                }
                continuation.resume()
            }
        }
    }

    private func adopt(_ candidate: ReloadCandidate) async throws {
        let settings = configuration.reloaded(from: candidate.configuration)
            .pipelineSettings(
                candidate.rules,
                candidate.filters,
                outgoing.plugins.platformCatalog,
                plugins: outgoing.plugins
            )
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            plane.events.intake.adopt(settings) { continuation.resume(with: $0) }
        }
        // What the pipeline that hands over can read, these can.
        plane.cluster?.adopt(settings)
    }

    /// Lets an instance end what it has, and then end itself: draining would cancel it.
    private static func retire(
        _ instance: TransportInstance,
        of plugins: PluginHost,
        _ transports: ActiveTransports
    ) async {
        let end = Deadline.now() + patienceWithFormer
        while !instance.isIdle, Deadline.now() < end, (try? await Task.sleep(for: .milliseconds(100))) != nil {}
        _ = await plugins.retire(instance, within: .seconds(5))
        transports.noteEnd(of: instance)
    }
}

extension Logger {
    /// Settings of a configuration in force that are valid but probably not what the operator intended.
    func warn(of doubts: [Diagnostic]) {
        for doubt in doubts {
            warning("The configuration may not say what is meant", metadata: ["doubt": "\(doubt)"])
        }
    }
}

/// Lets one reload in at a time, and remembers that another one is wanted behind it.
final class ReloadGate: Sendable {
    private enum State {
        case open, taken, takenAndWanted
    }

    private let state = Mutex(State.open)

    /// False while another reload is under way.
    func enter() -> Bool {
        state.withLock { state in
            guard state == .open else { return false }
            state = .taken
            return true
        }
    }

    /// The same for whoever cannot try again: while another reload is under way, the one who does it will read once
    /// more.
    func enterOrAsk() -> Bool {
        state.withLock { state in
            let isOpen = state == .open
            state = isOpen ? .taken : .takenAndWanted
            return isOpen
        }
    }

    /// False when somebody asked meanwhile: whoever has the gate keeps it, and has to read once more.
    func leave() -> Bool {
        state.withLock { state in
            let isWanted = state == .takenAndWanted
            state = isWanted ? .taken : .open
            return !isWanted
        }
    }
}
