import Console
import Core
import HTTPClient
import Logging
import Nostr
import PluginHost
import Push
import RouterConfiguration
import Rules
import Storage
import Synchronization

/// What a plugin is rehearsed with.
package struct RehearsalOrder: Sendable {
    /// By platform the block of one app as JSON, by filter its settings. What has none gets its description's sample.
    package var blocks: [String: String] = [:]
    /// By platform the token of the device; what has none gets its description's sample.
    package var tokens: [String: String] = [:]
    /// What is played as the push service's answer while notifications of every sort are tried; nil: the lab answers,
    /// or 200 is played.
    package var status: Int?
    /// Takes what the plugin sends; nil: nothing is sent.
    package var lab: TrialLab?

    package init() {}
}

/// Runs one plugin as a router does, in a process of its own, beside a lab or a push service that is played: it shows
/// every request that the plugin makes and what becomes of each notification. What `carillon plugin dev` runs.
package final class PluginRehearsal: Sendable {
    /// How long a delivery may take. Push services answer at once here.
    private static let deadline = RecordedServices.timeout

    private let order: RehearsalOrder
    private let log = RehearsalLog()
    private let host: PluginHost
    private let say: @Sendable (String) -> Void

    /// Loads the plugins in `folder`, which runs their code. What there is to read goes to `say`.
    ///
    /// Throws a mistake when the program is missing that runs them.
    package init(
        folder: String,
        _ order: RehearsalOrder,
        python: String?,
        say: @escaping @Sendable (String) -> Void
    ) throws(Diagnostics) {
        self.order = order
        self.say = say
        var plugins = Configuration.Plugins(folders: [folder])
        plugins.isolation.python.interpreter = python ?? ""
        plugins.isolation.python.showsErrors = true
        // A plugin that crashes each time is tried to the end.
        plugins.isolation.pause = .zero
        plugins.isolation.deadline = Self.deadline
        host = try plugins.load(log: log.logger)
    }

    /// Tries everything. False: it was refused, or an app's notification makes no request.
    package func run() async -> Bool {
        let keeper = Task { [host] in await host.run() }
        defer { keeper.cancel() }
        for refusal in host.catalog.refusals { say("refused: \(refusal.reason)") }
        sayLog()
        var isWorking = host.catalog.refusals.isEmpty && !host.catalog.plugins.isEmpty
        for plugin in host.catalog.plugins {
            for platform in plugin.platforms {
                say("\n\(Self.line("platform \(plugin.label(of: platform))"))")
                isWorking = await rehearse(platform: platform) && isWorking
            }
            for filter in plugin.filters {
                say("\n\(Self.line("filter \(filter.name)"))")
                isWorking = rehearse(filter: filter) && isWorking
            }
        }
        await host.shutDown(within: .seconds(2))
        sayLog()
        return isWorking
    }

    private func sayLog() { for line in log.take() { say("log: \(line)") } }

    private static func line(_ title: String) -> String {
        "── \(title) " + String(repeating: "─", count: max(0, 76 - title.count))
    }

    private static func column(_ text: String) -> String {
        text + String(repeating: " ", count: max(0, 26 - text.count))
    }

    // MARK: Transports

    private func rehearse(platform: String) async -> Bool {
        let description = host.platformCatalog[platform]
        let device = SampleDevice(platform: platform, description, token: order.tokens[platform])
        let services = RecordedServices(
            host: host,
            blocks: order.blocks,
            platforms: host.platformCatalog,
            answers: order.status.map { .played(PlayedAnswer($0)) } ?? order.lab.map { .lab($0) } ?? .usual,
            log: log.logger,
            stopsAtTimeout: true
        )
        guard isConfigured(services, for: device) else { return false }
        do {
            let isWorking = try await showAll(Trial(services), device)
            try await showAnswers(of: services, to: device)
            sayLog()
            return isWorking
        } catch {
            sayLog()
            say("error: \(error)")
            return false
        }
    }

    private func isConfigured(_ services: RecordedServices, for device: SampleDevice) -> Bool {
        do {
            try services.check(device.address)
            return true
        } catch {
            let platform = device.address.platform
            sayLog()
            say("\(error)")
            say("--block \(platform)=FILE gives it a configuration, --registration \(platform)=TOKEN a device")
            return false
        }
    }

    /// Shows samples and fixtures. False: one that must lead to a request does not.
    private func showAll(_ trial: Trial, _ device: SampleDevice) async throws -> Bool {
        var isWorking = true
        for sample in RehearsalSample.all { isWorking = try await show(sample, to: device, trial) && isWorking }
        return try await rehearseFixtures(trial, device) && isWorking
    }

    /// Shows the outcome of each response that a push service may give.
    private func showAnswers(of services: RecordedServices, to device: SampleDevice) async throws {
        let trial = Trial(services)
        say("\nwhat answers mean")
        for played in PlayedAnswer.all {
            services.play(played)
            let sample = RehearsalSample.plain.notification
            let outcome = try await trial.deliver(sample, id: DeliveryIDs.trial, to: device).outcome
            say("  \(Self.column(played.name)) \(outcome.sentence)")
        }
    }

    /// Delivers a sample, in stricter modes as far as that is necessary, and shows all that happens. False: the plugin
    /// may well refuse to show a mode, but an alert must lead to a request.
    private func show(_ sample: RehearsalSample, to device: SampleDevice, _ trial: Trial) async throws -> Bool {
        say("\n\(sample.name): \(sample.about)")
        let result = try await trial.deliver(sample.notification, id: DeliveryIDs.trial, to: device.recipient) {
            mode,
            reply,
            next in
            for exchange in reply.exchanges {
                for line in exchange.request.wholeTranscript { say("  \(line)") }
                say("  ← \(exchange.answer)")
            }
            sayLog()
            if let next {
                say("  \(reply.outcome.reason) as \(mode): the router tries it as \(next)")
            } else {
                say("  \(reply.outcome.sentence)")
            }
        }
        guard sample.notification.mode == .alert else { return true }
        return !result.exchanges.isEmpty && result.outcome.kind != .retry
    }

    /// What each fixture becomes by the built-in rules, in a line and its body.
    private func rehearseFixtures(_ trial: Trial, _ device: SampleDevice) async throws -> Bool {
        say("\nfixtures: an event of each kind, by the built-in rules")
        let rules = try RulesTrial(host, trial, device, now: Timestamp.now())
        var isWorking = true
        for fixture in try Fixture.all() {
            let name = Self.column(fixture.name)
            let report = try await rules.report(on: TrialSubject(fixture))
            if let silence = report.silence { say("  \(name) wakes nobody: \(silence)") }
            for delivery in report.deliveries {
                switch delivery.outcome {
                case .spared(let reason): say("  \(name) nothing goes out: \(reason.words)")
                case .failed(let failure):
                    sayLog()
                    say("error: \(failure)")
                    return false
                case .made(let result):
                    for exchange in result.exchanges {
                        say("  \(name) \(exchange.request.rehearsedLine) ← \(exchange.answer)")
                        if !exchange.request.body.isEmpty { say("    \(exchange.request.shortBody)") }
                    }
                    say("  \(result.exchanges.isEmpty ? name : Self.column("")) \(result.outcome.sentence)")
                    if result.exchanges.isEmpty, result.outcome.kind == .retry { isWorking = false }
                }
            }
        }
        sayLog()
        return isWorking
    }

    // MARK: Filters

    private func rehearse(filter: LoadedFilter) -> Bool {
        do {
            let instance = try host.makeFilter(
                filter.name,
                configuration: order.blocks[filter.name] ?? "{}",
                settings: InstanceSettings(
                    sender: RecordingHTTP(),
                    log: log.logger,
                    deliveryTimeout: Self.deadline
                )
            )
            var isWorking = true
            for fixture in try Fixture.all() {
                let decision = instance.decide(
                    FilterQuestion(
                        event: fixture.event.json,
                        recipient: fixture.recipient.hex,
                        signal: .mention,
                        author: fixture.event.pubkey.hex,
                        now: Timestamp.now(),
                        notification: filter.isAskedAfterRendering ? RehearsalSample.plain.notification : nil
                    )
                )
                if case .failed = decision { isWorking = false }
                say("  \(Self.column(fixture.name)) \(decision.sentence)")
            }
            sayLog()
            return isWorking
        } catch {
            sayLog()
            say("\(error)")
            say("--block \(filter.name)=FILE gives it settings")
            return false
        }
    }
}

/// Keeps what the router would log about a plugin, and what the plugin's process writes.
final class RehearsalLog: Sendable {
    private static let limit = 200

    private let lines = Mutex<[String]>([])

    var logger: Logger {
        var logger = Logger(label: "carillon.rehearsal") { _ in Handler(log: self) }
        logger.logLevel = .debug
        return logger
    }

    /// What has come since the last time.
    func take() -> [String] {
        lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
    }

    private func add(_ line: String) {
        lines.withLock { if $0.count < Self.limit { $0.append(line) } }
    }

    private struct Handler: LogHandler {
        let log: RehearsalLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            // What `plugin dev` shows itself.
            guard event.level > .debug || event.metadata?["line"] != nil, event.message != "Loaded a plugin",
                event.message != "Refused a plugin"
            else { return }
            if let line = event.metadata?["line"] { return log.add("\(line)") }
            let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.add(([event.message.description] + details).joined(separator: " "))
        }
    }
}
