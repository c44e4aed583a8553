import Core
import Delivery
import Dispatch
import Logging
import Operations
import Pipeline
import PluginHost
import Registry
import Relays
import RouterConfiguration
import Rules
import Storage
import Synchronization

/// Re-reads the configuration and activates it between two batches: rules, apps with their credentials, defaults, new
/// plugins, the API's token. A configuration with errors is rejected as a whole, and the old one stays active. No
/// delivery in flight is lost.
final class Reloader: Sendable {
    /// How long replaced instances may take to finish their deliveries: longer than the host waits for a delivery.
    private static let formerOwnerTimeout: Duration = .seconds(65)

    private let plane: DataPlane
    private let apiToken: ActiveAPIToken
    private let announcer: Announcer
    private let process: RouterProcess
    private let refusal = Mutex<(mistakes: [Diagnostic], at: Timestamp)?>(nil)
    private let gate = ReloadGate()

    init(_ plane: DataPlane, apiToken: ActiveAPIToken, announcer: Announcer, _ process: RouterProcess) {
        (self.plane, self.apiToken, self.announcer, self.process) = (plane, apiToken, announcer, process)
    }

    /// The configuration at the start.
    private var configuration: Configuration { plane.environment.configuration }
    private var logger: Logger { plane.environment.logger }
    private var settings: ActiveSettings { plane.settings }
    private var outgoing: Outgoing { plane.outgoing }

    /// Reloads the configuration. Logs every error of a rejected one.
    func reload() async -> ReloadResult {
        guard gate.enter() else { return .busy }
        return await readAgain()
    }

    /// Reloads after a signal, whose sender does not retry: if another reload is in progress, the configuration is read
    /// again after it.
    func reloadAtSignal() async {
        guard gate.enterOrAsk() else {
            return logger.info("Another reload is in progress; the configuration will be read again after it")
        }
        _ = await readAgain()
    }

    /// Reloads until no further request is waiting. The caller must hold the gate. Returns the last result.
    private func readAgain() async -> ReloadResult {
        while true {
            process.serviceManager?.reloading(monotonicMicroseconds: DispatchTime.now().uptimeNanoseconds / 1_000)
            let result = await reloaded()
            tell(result)
            if gate.leave() { return result }
        }
    }

    /// The errors that rejected the last reload, and its time; nil if the last reload succeeded or there was none.
    var refused: (mistakes: [Diagnostic], at: Timestamp)? { refusal.withLock(\.self) }

    private func tell(_ result: ReloadResult) {
        switch result {
        case .done(let restart, let warnings, _):
            refusal.withLock { $0 = nil }
            logger.notice("The configuration was reloaded")
            logger.warn(of: warnings)
            if !restart.isEmpty {
                logger.warning(
                    "Some changes take effect after a restart",
                    metadata: ["keys": "\(restart.joined(separator: ", "))"]
                )
            }
            process.serviceManager?.ready("Serving with the reloaded configuration")
        case .refused(let mistakes):
            // Without a file a restart does not fail.
            if process.reread != nil { refusal.withLock { $0 = (mistakes.all, plane.environment.now()) } }
            for mistake in mistakes.all {
                logger.error("The new configuration was rejected", metadata: ["mistake": "\(mistake)"])
            }
            process.serviceManager?.ready("Serving with the old configuration: the new one has errors")
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
            return .refused(Diagnostics([Diagnostic(file: configuration.store.path, message: "\(error)")]))
        }
        await rereadRegistrations(candidate.configuration.access)
        if let token = candidate.apiToken { apiToken.replace(by: token) }
        process.levels.reset()
        process.applyLog(candidate.configuration.log)
        let leaving = outgoing.transports.replace(by: candidate.transports)
        let reloaded = configuration.reloaded(from: candidate.configuration)
        settings.replace(by: reloaded, candidate.rules, candidate.filters)
        plane.relays.pool.ask(for: configuration.relayWishes(of: candidate.rules, lists: candidate.filters.lists))
        plane.deliveries.courier.resume()
        for instance in leaving {
            Task { [outgoing] in await Self.retire(instance, of: outgoing.plugins, outgoing.transports) }
        }
        outgoing.plugins.drain(of: formerFilters.instances(without: candidate.filters), within: .seconds(5))
        await outgoing.transports.refreshStatuses()
        announcer.announce()
        return .done(
            restart: configuration.keysRequiringRestart(in: candidate.configuration),
            warnings: candidate.rules.warnings
                + FilterWarnings(reloaded, candidate.rules, candidate.filters.all).found,
            refused: candidate.refused
        )
    }

    private func prepare() async throws -> ReloadCandidate {
        guard let reread = process.reread else {
            throw Diagnostics([
                Diagnostic(file: "environment", message: "the configuration came from no file; restart to change it")
            ])
        }
        // Files and plugins may block, and the threads that tasks share must not.
        return try await onDisk(.default) { [outgoing, filters = settings.filters, hasAPI = apiToken.value != nil] in
            try ReloadCandidate(try reread(), outgoing, filters, hasAPI: hasAPI)
        }
    }

    /// Updates the registry with new platform descriptions and access rules.
    private func rereadRegistrations(_ access: Configuration.Access) async {
        await withCheckedContinuation { continuation in
            // The disk may block, and the threads that tasks share must not.
            DispatchQueue.global().async { [registry = plane.stores.registry, outgoing, logger] in
                do {
                    try registry.replacePlatforms(with: outgoing.plugins.platformCatalog)
                    try registry.configureAccess(access.mode, access.rules)
                } catch {
                    logger.error(
                        "Failed to reread registrations for the new plugins",
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
            plane.entrance.intake.adopt(settings) { continuation.resume(with: $0) }
        }
        // The partitions' pipelines get the settings that the main pipeline accepted.
        plane.environment.membership?.adopt(settings)
    }

    /// Lets an instance finish its deliveries before it ends. Draining it immediately would cancel them.
    private static func retire(
        _ instance: TransportInstance,
        of plugins: PluginHost,
        _ transports: ActiveTransports
    ) async {
        let end = Deadline.now() + formerOwnerTimeout
        while !instance.isIdle, Deadline.now() < end, (try? await Task.sleep(for: .milliseconds(100))) != nil {}
        _ = await plugins.retire(instance, within: .seconds(5))
        transports.noteEnd(of: instance)
    }
}

extension Logger {
    /// Settings of an active configuration that are valid but probably not intended.
    func warn(of doubts: [Diagnostic]) {
        for doubt in doubts {
            warning("The configuration may contain an error", metadata: ["doubt": "\(doubt)"])
        }
    }
}

/// Allows one reload at a time, and remembers a request for another one.
final class ReloadGate: Sendable {
    private enum State {
        case open, taken, takenAndWanted
    }

    private let state = Mutex(State.open)

    /// False while another reload is in progress.
    func enter() -> Bool {
        state.withLock { state in
            guard state == .open else { return false }
            state = .taken
            return true
        }
    }

    /// Enters the gate, or if another reload is in progress, asks it to read once more. For callers that cannot retry.
    func enterOrAsk() -> Bool {
        state.withLock { state in
            let isOpen = state == .open
            state = isOpen ? .taken : .takenAndWanted
            return isOpen
        }
    }

    /// Leaves the gate. Returns false if another request arrived: the caller keeps the gate and must read once more.
    func leave() -> Bool {
        state.withLock { state in
            let isWanted = state == .takenAndWanted
            state = isWanted ? .taken : .open
            return !isWanted
        }
    }
}
