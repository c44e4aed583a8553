import Foundation
import Logging
import Nostr
import Notifications
import Pipeline
import PluginHost
import Rules
import YAMLReading

/// Shows what an event would become for one device: the same rules and the same plugin, on a host that records requests
/// instead of sending them.
package struct RulesTrial {
    /// Why there is no request to show.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The built-in rules as a file.
    package static var builtInRules: String { RuleBook.defaultYAML }

    private let configuration: Configuration
    private let recipient: String
    private let platform: String
    private let app: String
    private let mode: String
    private let token: String?
    private let fields: [String: String]
    private let authorName: String?

    /// Takes what a person typed; mistakes in it are thrown by ``run(event:)``.
    package init(
        configuration: Configuration,
        recipient: String,
        platform: String,
        app: String,
        mode: String,
        token: String?,
        fields: [String: String] = [:],
        authorName: String?
    ) {
        self.configuration = configuration
        self.recipient = recipient
        self.platform = platform
        self.app = app
        self.mode = mode
        self.token = token
        self.fields = fields
        self.authorName = authorName
    }

    /// The request for `json`, an event, as text: method and URL, headers, body, and which rule decided.
    ///
    /// Throws ``Failure`` with a sentence for a person, or the rules file's `Mistakes`.
    package func run(event json: [UInt8]) async throws -> String {
        guard let account = PublicKey(hex: recipient) ?? NIP19.publicKey(npub: recipient) else {
            throw Failure(description: "--recipient: expected 64 lowercase hex digits or npub1…")
        }
        guard let mode = Mode(name: mode), mode == .wake || mode == .alert else {
            throw Failure(description: "--mode: expected wake or alert")
        }
        let event = try UnsignedEventReader.read(json)
        let (rule, signal, concern) = try decide(event, account)
        let notification = rule.render(
            RuleInput(
                event: event,
                recipient: account,
                signal: signal,
                relation: concern.relation,
                author: concern.author,
                authorName: authorName ?? concern.author.hex.prefix(8) + "...",
                referenced: concern.referencedID.map { ReferencedEvent(id: $0) },
                zap: concern.zap
            ),
            signal: signal,
            mode: mode
        )
        let outcome = try await request(for: notification)
        return "rule: \(rule.name), signal: \(signal.rawValue), mode: \(notification.mode.name)\n\n\(outcome)"
    }

    private func decide(_ event: Event, _ account: PublicKey) throws -> (Rule, Signal, EventConcern) {
        guard event.mentionedKeys.contains(account) else {
            throw Failure(description: "the event wakes nobody: no p tag names the recipient")
        }
        guard event.pubkey != account else {
            throw Failure(description: "the event wakes nobody: the recipient wrote it")
        }
        let concern: EventConcern
        do {
            concern = try EventConcern.classify(event, for: account)
        } catch {
            throw Failure(description: "the event wakes nobody: \(error)")
        }
        let rules = try configuration.loadRules()
        let question = RuleQuestion(
            event: event,
            relation: concern.relation,
            signal: concern.signal,
            zapMillisats: concern.zap?.millisats
        )
        switch rules.decide(question) {
        case .notify(let rule, let signal): return (rule, signal, concern)
        case .drop(let rule): throw Failure(description: "the event wakes nobody: the rule '\(rule.name)' drops it")
        case .unmatched:
            throw Failure(description: "the event wakes nobody: no rule is for kind \(event.kind.rawValue)")
        }
    }

    private func request(for notification: Notifications.Notification) async throws -> String {
        let quiet = Logger(label: "carillon.try") { _ in SwiftLogNoOpLogHandler() }
        let host = PluginHost(
            loading: PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins),
            log: quiet
        )
        guard let block = configuration.apps[app]?.platforms[platform] else {
            throw Failure(description: "the configuration has no block apps.\(app).\(platform)")
        }
        let recorder = RecordingHTTP()
        let address = DeviceAddress(
            platform: platform,
            app: app,
            token: token ?? sampleToken,
            fields: fields,
            registeredAt: 0
        )
        let transport: TransportInstance
        do {
            transport = try host.makeTransport(
                platform: platform,
                app: app,
                configuration: block.json,
                settings: InstanceSettings(sender: recorder, log: quiet, deliveryTimeout: 10_000)
            )
            try transport.validate(address)
        } catch {
            throw Failure(description: "\(error)")
        }
        // Ends the trial of a plugin that never answers.
        let keeper = Task { await host.run() }
        defer { keeper.cancel() }
        let outcome = await withCheckedContinuation { continuation in
            transport.deliver(notification, id: "00000000-0000-8000-8000-000000000000", to: address) {
                continuation.resume(returning: $0)
            }
        }
        guard let request = recorder.requests.last else {
            throw Failure(description: "the \(platform) transport sends nothing: \(outcome.reason)")
        }
        return request.transcript
    }

    private var sampleToken: String {
        platform == "ios" ? String(repeating: "00", count: 32) : "https://push.example.com/sample"
    }
}
