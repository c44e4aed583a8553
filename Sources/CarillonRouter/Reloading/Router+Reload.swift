import Cipher
import Console
import Delivery
import Dispatch
import Logging
import Operations
import Pipeline
import PluginHost
import Registry
import RelayPool
import RouterConfiguration
import Rules
import YAMLReading

extension Router {
    /// Everything new that was read, made and found good.
    private struct Prepared: Sendable {
        var configuration: Configuration
        var rules: RuleBook
        var filters: Filters
        var transports: Transports
        /// Nil where no API runs.
        var apiToken: APIToken?
        /// New plugins that were not taken.
        var refused: [Mistake]
    }

    /// How long instances that serve no more may take for what they have, in milliseconds: longer than the host waits for a delivery.
    private static let patienceWithFormer: Int64 = 65_000

    /// Reads the configuration anew and puts it in force between two batches: rules, apps with their credentials, defaults, new plugins,
    /// the API's token. A broken one is refused as a whole, with every mistake in the log, and the old one stays. Nothing in flight is lost.
    package func reload() async -> ReloadResult {
        guard reloading.enter() else { return .busy }
        return await readAnew()
    }

    /// The same for a signal, behind which nobody waits to try again: where another reload is under way, what changed since it began
    /// is read behind it.
    package func reloadAtSignal() async {
        guard reloading.enterOrAsk() else {
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
            if reloading.leave() { return result }
        }
    }

    private func tell(_ result: ReloadResult) {
        switch result {
        case .done(let restart, let warnings, _):
            logger.notice("The configuration was read anew and is in force")
            Self.tell(warnings, logger)
            if !restart.isEmpty {
                logger.warning(
                    "Some of what changed takes effect with a restart",
                    metadata: ["keys": "\(restart.joined(separator: ", "))"]
                )
            }
            serviceManager?.ready("Serving, with the configuration read anew")
        case .refused(let mistakes):
            for mistake in mistakes.all {
                logger.error("The new configuration is refused", metadata: ["mistake": "\(mistake)"])
            }
            serviceManager?.ready("Serving, with the old configuration: the new one has mistakes")
        case .busy:
            break
        }
    }

    /// What a configuration in force is hardly meant to say.
    static func tell(_ warnings: [Mistake], _ logger: Logger) {
        for warning in warnings {
            logger.warning("The configuration may not say what is meant", metadata: ["doubt": "\(warning)"])
        }
    }

    private func reloaded() async -> ReloadResult {
        let former = transports.current
        let formerFilters = inForce.filters
        let prepared: Prepared
        do {
            // Files and plugins may take their time, which the threads that tasks share have not.
            prepared = try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(with: Result { try self.prepare(former, formerFilters) })
                }
            }
            do {
                try await adopt(prepared)
            } catch {
                discard(prepared.transports, keeping: former)
                retire(prepared.filters, keeping: formerFilters)
                throw error
            }
        } catch let mistakes as Mistakes {
            return .refused(mistakes)
        } catch {
            return .refused(Mistakes([Mistake(file: configuration.storePath, message: "\(error)")]))
        }
        if let token = prepared.apiToken { apiToken.set(token) }
        let leaving = transports.replace(by: prepared.transports)
        let reloaded = configuration.reloaded(from: prepared.configuration)
        inForce.replace(by: reloaded, prepared.rules, prepared.filters)
        pool.ask(for: configuration.relayWishes(of: prepared.rules, lists: prepared.filters.lists))
        courier.resume()
        for instance in leaving {
            Task { [plugins, transports] in await Self.retire(instance, of: plugins, transports) }
        }
        retire(formerFilters, keeping: prepared.filters)
        await transports.refreshStatuses()
        if let port = port.value { advertise(port: port) }
        return .done(
            restart: configuration.keysThatTakeARestart(in: prepared.configuration),
            warnings: FilterDoubts(reloaded, prepared.rules, prepared.filters.all).found,
            refused: prepared.refused
        )
    }

    private func prepare(_ former: Transports, _ formerFilters: Filters) throws -> Prepared {
        guard let reread else {
            throw Mistakes([
                Mistake(file: "environment", message: "the configuration came from no file; restart to change it")
            ])
        }
        let configuration = try reread()
        var mistakes: [Mistake] = []
        var rules: RuleBook?
        do {
            rules = try configuration.loadRules()
        } catch {
            mistakes += error.all
        }
        var token: APIToken?
        if apiToken.value != nil, let api = configuration.api {
            do {
                token = try APITokenFile(path: api.tokenFile).readOrCreate(random: SecureRandom.bytes)
            } catch {
                mistakes += error.all
            }
        }
        plugins.loadFurther(PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins))
        let transports = Transports(
            configuration: configuration,
            plugins: plugins,
            settings: InstanceSettings(sender: lanes, log: logger),
            former: former
        )
        mistakes += transports.failures.map { failure in
            let place = "apps.\(failure.app).\(failure.platform)"
            return Mistake(
                file: configuration.file ?? "apps",
                line: failure.line,
                column: 1,
                message: "\(place): \(failure.reason)"
            )
        }
        let filters = Filters(
            configuration: configuration,
            plugins: plugins,
            settings: InstanceSettings(sender: lanes, log: logger),
            former: formerFilters
        )
        mistakes += filters.failures.map { failure in
            Mistake(
                file: configuration.file ?? "filters",
                line: failure.line,
                column: 1,
                message: "filters.\(failure.name): \(failure.reason)"
            )
        }
        guard mistakes.isEmpty, let rules else {
            discard(transports, keeping: former)
            retire(filters, keeping: formerFilters)
            throw Mistakes(mistakes)
        }
        return Prepared(
            configuration: configuration,
            rules: rules,
            filters: filters,
            transports: transports,
            apiToken: token,
            refused: plugins.catalog.refusals.map { Mistake(file: $0.path, message: "\($0.reason)") }
        )
    }

    private func adopt(_ prepared: Prepared) async throws {
        let settings = configuration.reloaded(from: prepared.configuration)
            .pipelineSettings(prepared.rules, prepared.filters, plugins: plugins)
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            intake.adopt(settings) { continuation.resume(with: $0) }
        }
    }

    /// Lets go of instances that never served.
    private func discard(_ transports: Transports, keeping former: Transports) {
        for (queue, instance) in transports.all where former.all[queue] !== instance {
            Task { [plugins] in _ = await plugins.retire(instance, within: 1_000) }
        }
    }

    /// Lets go of filters that nobody asks any more.
    private func retire(_ filters: Filters, keeping others: Filters) {
        for instance in filters.instances(without: others) {
            Task { [plugins] in _ = await plugins.retire(instance, within: 5_000) }
        }
    }

    /// Lets an instance end what it has, and then end itself: draining would cancel it.
    private static func retire(
        _ instance: TransportInstance,
        of plugins: PluginHost,
        _ transports: TransportsInForce
    ) async {
        let end = DispatchTime.now() + .milliseconds(Int(patienceWithFormer))
        while !instance.isIdle, DispatchTime.now() < end, (try? await Task.sleep(for: .milliseconds(100))) != nil {}
        _ = await plugins.retire(instance, within: 5_000)
        transports.noteEnd(of: instance)
    }
}
