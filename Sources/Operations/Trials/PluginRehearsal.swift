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

/// The options of a plugin rehearsal.
package struct RehearsalOrder: Sendable {
    /// An app's block as JSON by platform, and the settings by filter. Default: the sample in the description.
    package var blocks: [String: String] = [:]
    /// The device's token by platform. Default: the sample in the description.
    package var tokens: [String: String] = [:]
    /// The simulated status of the push service while all kinds of notifications are tried. Default: the lab's
    /// response, or 200.
    package var status: Int?
    /// Receives the plugin's requests; `nil` if they are not sent.
    package var lab: TrialLab?

    package init() {}
}

/// Runs one plugin in its own process, like a router, against a lab or a simulated push service. It prints every
/// request of the plugin and each notification's result. `carillon plugin dev` uses it.
package final class PluginRehearsal: Sendable {
    /// The timeout of a delivery. Push services respond immediately here.
    private static let deadline = RecordedServices.timeout

    private let order: RehearsalOrder
    private let log = RehearsalLog()
    private let host: PluginHost
    private let say: @Sendable (String) -> Void

    /// Loads the plugins in `folder`, which runs their code. `say` prints a line.
    ///
    /// Throws an error if the program that runs plugins, or the interpreter `python`, is missing.
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
        // A plugin that keeps crashing is still tried to the end.
        plugins.isolation.pause = .zero
        plugins.isolation.deadline = Self.deadline
        host = try plugins.load(log: log.logger)
    }

    /// Runs all trials. Returns false if the plugin was rejected, or if an app's notification makes no request.
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

    /// Prints samples and fixtures. Returns false if a required request is missing.
    private func showAll(_ trial: Trial, _ device: SampleDevice) async throws -> Bool {
        var isWorking = true
        for sample in RehearsalSample.all { isWorking = try await show(sample, to: device, trial) && isWorking }
        return try await rehearseFixtures(trial, device) && isWorking
    }

    /// Prints the outcome of each possible response of a push service.
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

    /// Delivers a sample, retries it in stricter modes if needed, and prints each step. A plugin may refuse a mode, but
    /// returns false if an alert makes no request.
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

    /// Prints the notification that the built-in rules make of each fixture: a line and its body.
    private func rehearseFixtures(_ trial: Trial, _ device: SampleDevice) async throws -> Bool {
        say("\nfixtures: an event of each kind, by the built-in rules")
        let rules = try RulesTrial(host, trial, device, now: Timestamp.now())
        var isWorking = true
        for fixture in try Fixture.all() {
            let name = Self.column(fixture.name)
            let report = try await rules.report(on: TrialSubject(fixture))
            if let silence = report.silence { say("  \(name) no notification: \(silence)") }
            for delivery in report.deliveries {
                switch delivery.outcome {
                case .spared(let reason): say("  \(name) not sent: \(reason.words)")
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

/// Collects log messages about a plugin and the output of its process.
final class RehearsalLog: Sendable {
    private static let limit = 200

    private let lines = Mutex<[String]>([])

    var logger: Logger {
        var logger = Logger(label: "carillon.rehearsal") { _ in Handler(log: self) }
        logger.logLevel = .debug
        return logger
    }

    /// Returns the lines since the last call.
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
            // `plugin dev` prints these itself.
            guard event.level > .debug || event.metadata?["line"] != nil, event.message != "Loaded a plugin",
                event.message != "Refused a plugin"
            else { return }
            if let line = event.metadata?["line"] { return log.add("\(line)") }
            let details = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            log.add(([event.message.description] + details).joined(separator: " "))
        }
    }
}
