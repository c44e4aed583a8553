import HTTPLanes
import Logging
import Nostr
import Notifications
import Platforms
import PluginHost
import PluginIsolation
import RouterConfiguration
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
    /// What the push service answers while notifications of every sort are tried.
    package var status = 200

    package init() {}
}

/// Runs one plugin as a router does, in a process of its own, beside a push service that is played: it shows every
/// request that the plugin makes and what becomes of each notification. What `carillon plugin dev` runs.
package final class PluginRehearsal: Sendable {
    private static let id = "0b5e7c9e-93a4-4b1f-8a35-6d6a3a3ad8a5"

    private let order: RehearsalOrder
    private let log = RehearsalLog()
    private let host: PluginHost
    private let answer: Mutex<PlayedAnswer>
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
        answer = Mutex(PlayedAnswer(order.status))
        var plugins = Configuration.Plugins(folders: [folder])
        plugins.isolation.python.interpreter = python ?? ""
        plugins.isolation.python.showsErrors = true
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

    private func settings(_ sender: RecordingHTTP) -> InstanceSettings {
        InstanceSettings(sender: sender, log: log.logger, deliveryTimeout: .seconds(15))
    }

    // MARK: Transports

    private func rehearse(platform: String) async -> Bool {
        let description = host.platformCatalog[platform]
        let device = SampleDevice(platform: platform, description, token: order.tokens[platform])
        let recorder = RecordingHTTP { [self] _ in answer.withLock(\.result) }
        let transport: TransportInstance
        do {
            transport = try host.makeTransport(
                platform: platform,
                app: "default",
                configuration: order.blocks[platform]
                    ?? description?.sample.configuration(generate: SampleKeys.make) ?? "{}",
                settings: settings(recorder)
            )
            try transport.validate(device.address)
        } catch {
            sayLog()
            say("\(error)")
            say("--block \(platform)=FILE gives it a configuration, --registration \(platform)=TOKEN a device")
            return false
        }
        var isWorking = true
        let delivery = RehearsedDelivery(transport: transport, recorder: recorder, device: device, id: Self.id)
        for sample in RehearsalSample.all {
            guard let notification = sealed(sample, for: device) else { continue }
            say("\n\(sample.name): \(sample.about)")
            let (requests, outcome) = await show(notification, delivery)
            // A plugin may well refuse to show a mode; it must not be silent about what anybody may read.
            if sample.notification.mode == .alert, requests == 0 || outcome.kind == .retry { isWorking = false }
        }
        say("\nwhat answers mean")
        for played in PlayedAnswer.all {
            answer.withLock { $0 = played }
            let (_, outcome) = await delivery.run(RehearsalSample.plain.notification)
            say("  \(Self.column(played.name)) \(outcome.sentence)")
        }
        answer.withLock { $0 = PlayedAnswer(order.status) }
        sayLog()
        return isWorking
    }

    /// Delivers a notification, in stricter modes as far as that is necessary, and shows all that happens.
    private func show(_ notification: Notification, _ delivery: RehearsedDelivery) async -> (Int, Outcome) {
        var next = notification
        var count = 0
        while true {
            let (requests, outcome) = await delivery.run(next)
            count += requests.count
            for request in requests {
                for line in request.wholeTranscript { say("  \(line)") }
                say("  ← \(answer.withLock(\.name))")
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

    /// The notification as the router hands it over; nil where it cannot be sealed.
    private func sealed(_ sample: RehearsalSample, for device: SampleDevice) -> Notification? {
        let notification = sample.notification
        guard notification.mode == .sealed, !host.encryptingPlatforms.contains(device.address.platform) else {
            return notification
        }
        guard let identity = try? SecretKey(bytes: [UInt8](repeating: 1, count: 32)) else { return nil }
        return try? Sealer(identity: identity).seal(notification, id: Self.id, for: device.sealingKey)
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
    let recorder: RecordingHTTP
    let device: SampleDevice
    let id: String

    /// The requests that the plugin makes, and what becomes of the notification.
    func run(_ notification: Notification) async -> ([HTTPRequest], Outcome) {
        let outcome = await withCheckedContinuation { continuation in
            transport.deliver(notification, id: id, to: device.address) { continuation.resume(returning: $0) }
        }
        return (recorder.takeRequests(), outcome)
    }
}

extension Outcome {
    /// What becomes of the notification, for a plugin's author.
    fileprivate var sentence: String {
        let word = reason == "\(kind)" || reason.isEmpty ? "" : " (\(reason))"
        let status = status == 0 ? "" : ", status \(status)"
        switch kind {
        case .delivered: return "delivered\(word)\(status)"
        case .gone: return "gone\(word)\(status): the router forgets the device"
        case .rejected: return "rejected\(word)\(status): the router drops the notification"
        case .misconfigured:
            return "misconfigured\(word)\(status): the router pauses the platform and tells its operator"
        case .retry:
            let wait = retryAfter > .zero ? "after \(retryAfter.seconds) s" : "later"
            return "retry\(word)\(status): the router tries again \(wait)"
        }
    }
}

extension FilterVerdict {
    fileprivate var sentence: String {
        switch self {
        case .pass: "pass"
        case .edited: "pass, with other texts"
        case .drop(let reason): "drop" + (reason.isEmpty ? "" : " (\(reason))")
        case .failed(let reason): "failed: \(reason)"
        }
    }
}

extension HTTPRequest {
    /// Everything that goes out, credentials too: those of a rehearsal are made up, or the author's own.
    fileprivate var wholeTranscript: [String] {
        var lines = ["\(method) \(url)" + (untrustedURL ? "  (untrusted: never into a private network)" : "")]
        lines += headers.map { "\($0.name): \($0.value)" }
        guard !body.isEmpty else { return lines.map(\.printable) }
        let text = String(validating: body, as: UTF8.self) ?? "(\(body.count) bytes that are not text)"
        let isLong = text.count > Self.shownCharacters
        lines +=
            [""]
            + text.prefix(Self.shownCharacters).split(separator: "\n", omittingEmptySubsequences: false).map(
                String.init
            )
        return lines.map(\.printable) + (isLong ? ["… (\(body.count) bytes)"] : [])
    }

    private static var shownCharacters: Int { 1000 }
}

extension String {
    /// With what would move a terminal's cursor or turn its text around written as a number.
    fileprivate var printable: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control: text += "\\u{\(String(scalar.value, radix: 16))}"
            case .format where scalar.value != 0x200d: text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
