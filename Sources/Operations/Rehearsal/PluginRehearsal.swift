import Console
import HTTPLanes
import Logging
import Nostr
import Notifications
import Platforms
import PluginHost
import PluginIsolation
import RouterConfiguration
import Rules
import Schnorr
import Sealing
import Synchronization
import Units
import YAMLReading

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
    package var lab: RehearsalLab?

    package init() {}
}

/// Runs one plugin as a router does, in a process of its own, beside a lab or a push service that is played: it shows
/// every request that the plugin makes and what becomes of each notification. What `carillon plugin dev` runs.
package final class PluginRehearsal: Sendable {
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

    private func settings(_ sender: any HTTPSender) -> InstanceSettings {
        InstanceSettings(sender: sender, log: log.logger, deliveryTimeout: .seconds(15))
    }

    // MARK: Transports

    private func rehearse(platform: String) async -> Bool {
        let description = host.platformCatalog[platform]
        let device = SampleDevice(platform: platform, description, token: order.tokens[platform])
        let usual = order.status.map { PlayedAnswer($0) }
        let http = RehearsalHTTP(lab: order.lab, played: usual)
        let transport: TransportInstance
        do {
            transport = try host.makeTransport(
                platform: platform,
                app: "default",
                configuration: order.blocks[platform]
                    ?? description?.sample.configuration(generate: SampleKeys.make) ?? "{}",
                settings: settings(http)
            )
            try transport.validate(device.address)
        } catch {
            sayLog()
            say("\(error)")
            say("--block \(platform)=FILE gives it a configuration, --registration \(platform)=TOKEN a device")
            return false
        }
        var isWorking = true
        let delivery = RehearsedDelivery(transport: transport, http: http, device: device, id: DeliveryIDs.trial)
        for sample in RehearsalSample.all {
            guard let notification = sealed(sample, for: device) else { continue }
            say("\n\(sample.name): \(sample.about)")
            let (requests, outcome) = await show(notification, delivery)
            // A plugin may well refuse to show a mode; it must not be silent about what anybody may read.
            if sample.notification.mode == .alert, requests == 0 || outcome.kind == .retry { isWorking = false }
        }
        isWorking = await rehearseFixtures(delivery) && isWorking
        say("\nwhat answers mean")
        for played in PlayedAnswer.all {
            http.play(played)
            let (_, outcome) = await delivery.run(RehearsalSample.plain.notification)
            say("  \(Self.column(played.name)) \(outcome.sentence)")
        }
        sayLog()
        return isWorking
    }

    /// Delivers a notification, in stricter modes as far as that is necessary, and shows all that happens.
    private func show(_ notification: Notification, _ delivery: RehearsedDelivery) async -> (Int, Outcome) {
        var next = notification
        var count = 0
        while true {
            let (exchanges, outcome) = await delivery.run(next)
            count += exchanges.count
            for exchange in exchanges {
                for line in exchange.request.wholeTranscript { say("  \(line)") }
                say("  ← \(exchange.answer)")
            }
            sayLog()
            guard let downgraded = next.downgraded(after: outcome) else {
                say("  \(outcome.sentence)")
                return (count, outcome)
            }
            say("  \(outcome.reason) as \(next.mode): the router tries it as \(downgraded.mode)")
            next = downgraded
        }
    }

    /// What each fixture becomes by the built-in rules, in a line and its body.
    private func rehearseFixtures(_ delivery: RehearsedDelivery) async -> Bool {
        let platform = delivery.device.address.platform
        say("\nfixtures: an event of each kind, by the built-in rules")
        do {
            let judge = TrialJudge(
                rules: try RulesFiles([], KnownPlatforms(host)).read(),
                recipient: nil,
                authorName: nil,
                language: nil,
                app: "default",
                isAuthorFollowed: false,
                now: Timestamp.now()
            )
            var isWorking = true
            for fixture in try Fixture.all() {
                let name = Self.column(fixture.name)
                switch try judge.verdict(on: TrialSubject(fixture), platform: platform) {
                case .wakesNobody(let reason, _): say("  \(name) wakes nobody: \(reason.words)")
                case .wakes(let wakeUp)
                where wakeUp.rule.isSilent(on: platform) && host.showingPlatforms.contains(platform):
                    say("  \(name) nothing goes out: it is silent")
                case .wakes(let wakeUp):
                    let notification = judge.rendering(of: wakeUp, mode: .alert, on: platform).notification
                    let (exchanges, outcome) = await delivery.run(notification)
                    for exchange in exchanges {
                        say("  \(name) \(exchange.request.rehearsedLine) ← \(exchange.answer)")
                        if !exchange.request.body.isEmpty { say("    \(exchange.request.shortBody)") }
                    }
                    say("  \(exchanges.isEmpty ? name : Self.column("")) \(outcome.sentence)")
                    if exchanges.isEmpty, outcome.kind == .retry { isWorking = false }
                }
            }
            sayLog()
            return isWorking
        } catch {
            say("\(error)")
            return false
        }
    }

    /// The notification as the router hands it over; nil where it cannot be sealed.
    private func sealed(_ sample: RehearsalSample, for device: SampleDevice) -> Notification? {
        let notification = sample.notification
        guard notification.mode == .sealed, !host.encryptingPlatforms.contains(device.address.platform) else {
            return notification
        }
        guard let identity = try? SecretKey(bytes: [UInt8](repeating: 1, count: 32)) else { return nil }
        return try? Sealer().seal(notification, id: DeliveryIDs.trial, for: device.sealingKey, from: identity)
    }

    // MARK: Filters

    private func rehearse(filter: LoadedFilter) -> Bool {
        do {
            let instance = try host.makeFilter(
                filter.name,
                configuration: order.blocks[filter.name] ?? "{}",
                settings: settings(RecordingHTTP())
            )
            var isWorking = true
            for fixture in try Fixture.all() {
                let verdict = instance.decide(
                    FilterQuestion(
                        event: fixture.event.json,
                        recipient: fixture.recipient.hex,
                        signal: .mention,
                        author: fixture.event.pubkey.hex,
                        now: Timestamp.now(),
                        notification: filter.isAskedAfterRendering ? RehearsalSample.plain.notification : nil
                    )
                )
                if case .failed = verdict { isWorking = false }
                say("  \(Self.column(fixture.name)) \(verdict.sentence)")
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

/// One device of one transport, for one delivery at a time.
private struct RehearsedDelivery: Sendable {
    let transport: TransportInstance
    let http: RehearsalHTTP
    let device: SampleDevice
    let id: DeliveryID

    /// The requests that the plugin makes, and what becomes of the notification.
    func run(_ notification: Notification) async -> ([RehearsalHTTP.Exchange], Outcome) {
        let outcome = await withCheckedContinuation { continuation in
            transport.deliver(notification, id: id, to: device.address) { continuation.resume(returning: $0) }
        }
        return (http.takeExchanges(), outcome)
    }
}
