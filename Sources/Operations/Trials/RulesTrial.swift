import Console
import Core
import HTTPClient
import Logging
import Nostr
import Pipeline
import PluginHost
import Push
import RouterConfiguration
import Rules
import Storage

/// A trial of rules on events. It uses the same rules and plugins as a running router, but records requests instead of
/// sending them.
package final class RulesTrial: Sendable {
    /// The built-in rules as a file.
    package static func builtInRules(_ platforms: PlatformCatalog) -> String {
        RuleBook.defaultYAML(platforms: platforms)
    }

    /// The errors of plugins that were not loaded.
    package let refusals: [String]
    private let host: PluginHost
    private let trial: Trial
    private let devices: [SampleDevice]
    private let judge: TrialEvaluator
    private let mode: Mode
    /// The platforms with throw-away keys.
    private let throwAwayPlatforms: Set<String>
    private let catalog: PlatformCatalog
    /// The secrets to blank in the output of used blocks, by platform.
    private let secrets: [String: BlockSecrets]

    /// Reads the rules and loads the plugins, which runs their code.
    ///
    /// Throws ``TrialError`` for invalid options, and the rules files' `Diagnostics`.
    package init(_ order: TrialOrder, now: Timestamp) throws {
        mode = try order.readMode()
        let plugins = try CommandPlugins(order.configuration, folders: order.pluginFolders)
        host = plugins.host
        refusals = host.catalog.refusals.map { "refused \($0.path): \($0.reason)" }
        let known = plugins.platforms
        let rules = try Self.rules(order, known)
        judge = TrialEvaluator(
            rules: rules,
            recipient: try order.readRecipient(),
            authorName: order.authorName,
            language: try order.readLanguage()?.nearest(among: rules.languages),
            app: order.app,
            isAuthorFollowed: order.isAuthorFollowed,
            now: now
        )
        let (app, configured) = try Self.blocks(order)
        // Rules can be tried without the push service's keys.
        let usable = configured.filter(\.value.unset.isEmpty)
        var blocks: [String: String] = [:]
        var secrets: [String: BlockSecrets] = [:]
        for (platform, block) in usable {
            blocks[platform] = block.json(for: known.catalog[platform])
            secrets[platform] = BlockSecrets(block, known.catalog[platform])
        }
        self.secrets = secrets
        let platforms = try Self.platforms(order, configured: configured.keys, plugins)
        devices = platforms.map {
            SampleDevice(
                platform: $0,
                known.catalog[$0],
                app: app,
                token: order.token,
                fields: order.fields
            )
        }
        catalog = known.catalog
        trial = Trial(RecordedServices(host: host, blocks: blocks, platforms: known.catalog))
        throwAwayPlatforms = Set(
            platforms.filter { blocks[$0] == nil && known.catalog[$0]?.sample.hasGeneratedKeys == true }
        )
    }

    /// Uses the built-in rules for one device of a running plugin, in mode `alert`.
    init(_ host: PluginHost, _ trial: Trial, _ device: SampleDevice, now: Timestamp) throws(Diagnostics) {
        (self.host, self.trial) = (host, trial)
        (mode, devices, refusals, throwAwayPlatforms, secrets) = (.alert, [device], [], [], [:])
        catalog = host.platformCatalog
        judge = TrialEvaluator(
            rules: try RulesFiles([], KnownPlatforms(host)).read(),
            recipient: nil,
            authorName: nil,
            language: nil,
            app: device.address.app,
            isAuthorFollowed: false,
            now: now
        )
    }

    /// Returns the result for `subject` on every platform. For one subject at a time.
    ///
    /// Throws ``TrialError`` if the event does not identify the recipient.
    package func run(_ subject: TrialSubject) async throws(TrialError) -> TrialReport {
        // Ends the trial of a plugin that does not respond.
        let keeper = Task { [host] in await host.run() }
        defer { keeper.cancel() }
        return try await report(on: subject)
    }

    /// Returns the same report while the host runs.
    func report(on subject: TrialSubject) async throws(TrialError) -> TrialReport {
        var decisions: [TrialEvaluator.Decision] = []
        for device in devices { decisions.append(try judge.decision(on: subject, platform: device.address.platform)) }
        let decisive =
            decisions.first(where: \.wakesSomebody) ?? decisions.first
            ?? .silent(Sentence("no-platform", "there is no platform"))
        var report = TrialReport(subject: subject, decision: decisive)
        guard decisive.wakesSomebody else { return report }
        for (device, decision) in zip(devices, decisions) {
            switch decision {
            case .silent(let reason, _):
                report.deliveries.append(
                    TrialDelivery(
                        platform: device.address.platform,
                        hasThrowAwayKeys: false,
                        leftOut: [],
                        outcome: .spared(reason)
                    )
                )
            case .wakes(let wakeUp):
                if wakeUp.rule.mode < mode { report.isCutByRule = true }
                var delivery = await delivery(of: wakeUp, to: device)
                if wakeUp.rule.name != report.ruleName { delivery.ruleName = wakeUp.rule.name }
                report.deliveries.append(delivery)
            }
        }
        return report
    }

    /// Stops the plugins.
    package func close() async {
        await host.shutDown(within: .seconds(2))
    }

    /// Loads the plugins for `body`, and stops them after it. Throws the errors of `init` and `body`.
    static func run<Value: Sendable>(
        _ order: TrialOrder,
        _ body: (RulesTrial) async throws -> Value
    ) async throws -> Value {
        let trial = try await DiskWork.run { try RulesTrial(order, now: Timestamp.now()) }
        do {
            let value = try await body(trial)
            await trial.close()
            return value
        } catch {
            await trial.close()
            throw error
        }
    }

    private func delivery(of wakeUp: TrialEvaluator.WakeUp, to device: SampleDevice) async -> TrialDelivery {
        let platform = device.address.platform
        let rendering = judge.rendering(of: wakeUp, mode: mode, on: platform)
        // Envelopes of the router itself contain no secrets from the platform's block.
        let hasBlock = rendering.notification.mode != .sealed || host.encryptingPlatforms.contains(platform)
        let platformOfBlock = hasBlock ? platform : nil
        var delivery = TrialDelivery(
            platform: platform,
            hasThrowAwayKeys: throwAwayPlatforms.contains(platform),
            leftOut: rendering.keysLeftOut(for: platformOfBlock),
            outcome: .spared(
                Sentence("silent", ["platform": platform], "it is silent, and \(platform) can only show what it gets")
            )
        )
        if wakeUp.rule.isSilent(on: platform), host.showingPlatforms.contains(platform) { return delivery }
        let withholding = platformOfBlock.map(rendering.keysWithholding) ?? []
        guard withholding.isEmpty else {
            let keys = withholding.joined(separator: ", ")
            let words = "not sent: the event has no valid value for \(keys), which is required"
            delivery.outcome = .failed(TrialError(description: words, says: Statement("withheld", ["keys": keys])))
            return delivery
        }
        let secrets = secrets[platform] ?? BlockSecrets()
        do {
            var result = try await trial.deliver(rendering.notification, id: DeliveryIDs.trial, to: device)
            delivery.size = result.request.flatMap { PushSize($0, catalog[platform]?.limits) }
            delivery.unsealed = result.request.flatMap { SealedBody.plaintext(in: $0.body, for: device) }
            result.request = result.request.map(secrets.blanking)
            delivery.outcome = .made(result)
        } catch {
            delivery.outcome = .failed(TrialError(description: secrets.blanking("\(error)")))
        }
        return delivery
    }

    private static func rules(_ order: TrialOrder, _ platforms: KnownPlatforms) throws(Diagnostics) -> RuleBook {
        if let text = order.rulesText { return try RuleBook(text, platforms) }
        if order.rulesFiles.isEmpty, let configuration = order.configuration {
            return try RulesFiles(configuration, platforms).read()
        }
        return try RulesFiles(order.rulesFiles, platforms).read()
    }

    /// Returns the platforms to show, in the given order.
    private static func platforms(
        _ order: TrialOrder,
        configured: some Sequence<String>,
        _ plugins: CommandPlugins
    ) throws(TrialError) -> [String] {
        let loaded = plugins.host.platforms
        guard !loaded.isEmpty else {
            throw TrialError(
                description: plugins.folders.isEmpty
                    ? "no plugins: plugins.folders of the configuration is empty; --plugins names a folder with some"
                    : "no plugins in \(plugins.folders.joined(separator: ", ")); --plugins names a folder with some"
            )
        }
        for platform in order.platforms where !loaded.contains(platform) {
            throw TrialError(
                description: "--platform: no plugin serves '\(platform)', only \(loaded.joined(separator: ", "))"
            )
        }
        if !order.platforms.isEmpty { return order.platforms }
        let wanted = loaded.filter(Set(configured).contains)
        return wanted.isEmpty ? loaded : wanted
    }

    /// Returns the app's name and its blocks by platform.
    private static func blocks(
        _ order: TrialOrder
    ) throws(TrialError) -> (String, [String: Configuration.PlatformBlock]) {
        guard let configuration = order.configuration, !order.isWithoutBlocks else { return (order.app, [:]) }
        guard let app = configuration.apps[order.app] else {
            throw TrialError(
                description: "--app: the configuration has no app '\(order.app)', only "
                    + (configuration.apps.isEmpty
                        ? "none at all" : configuration.apps.keys.sorted().joined(separator: ", "))
            )
        }
        return (order.app, app.platforms)
    }
}

extension RuleBook {
    /// Parses rules in a request. They must not name files.
    init(_ text: String, _ platforms: KnownPlatforms) throws(Diagnostics) {
        try self.init(
            files: [RulesFile(name: "rules", text: text)],
            platforms: platforms.catalog,
            blockChecks: platforms.blockChecks
        )
    }
}

/// Evaluates an event as the router's match stage and rules do.
struct TrialEvaluator: Sendable {
    /// An event that leads to a notification, with the input of its templates.
    struct WakeUp: Sendable {
        let rule: Rule
        let signal: Signal
        let input: RuleInput
        let count: UInt32
    }

    enum Decision: Sendable {
        case wakes(WakeUp)
        /// Leads to no notification. The reason completes "no notification: …"; `by` is the rule that drops it, if any.
        case silent(Sentence, by: String? = nil)

        var wakesSomebody: Bool {
            if case .wakes = self { true } else { false }
        }
    }

    let rules: RuleBook
    let recipient: PublicKey?
    let authorName: String?
    /// The closest language of the rules.
    let language: LanguageTag?
    let app: String
    /// `nil` if unknown.
    let isAuthorFollowed: Bool?
    let now: Timestamp

    func decision(on subject: TrialSubject, platform: String) throws(TrialError) -> Decision {
        let event = subject.event
        guard let account = recipient ?? subject.recipient else {
            let isOfNobody = event.mentionedKeys.isEmpty
            let problem = isOfNobody ? "the event names no account" : "the event names several accounts"
            throw TrialError(
                description: "\(subject.name): pass the account with --recipient, because \(problem)",
                says: Statement(isOfNobody ? "event-of-nobody" : "event-of-several")
            )
        }
        guard event.mentionedKeys.contains(account) else {
            return .silent(Sentence("not-named", "no p tag names the recipient"))
        }
        guard event.pubkey != account else { return .silent(Sentence("own", "the recipient wrote it")) }
        let concern: Relevance
        do {
            concern = try Relevance.classify(event, for: account) { $0 == subject.referenced?.id ? [account] : nil }
        } catch {
            return .silent(Self.sentence(error))
        }
        let question = question(event, concern, of: account, platform)
        switch rules.decide(question) {
        case .drop(let rule):
            let place = rule.place.map { " (\($0))" } ?? ""
            let words = "the rule '\(rule.name)' drops it\(place)"
            return .silent(Sentence("dropped", ["rule": rule.name], words), by: rule.name)
        case .unmatched:
            return .silent(unmatched(event.kind))
        case .notify(let rule, let signal):
            var input = RuleInput(
                question.facts,
                recipient: account,
                signal: signal,
                author: concern.author,
                authorName: authorName ?? subject.authorName ?? AuthorName.standIn(for: concern)
            )
            input.relation = concern.relation
            input.referenced = concern.referencedID.map { referenced($0, subject, of: account) }
            input.zap = concern.zap
            input.mentioned = mentioned(subject, account)
            return .wakes(WakeUp(rule: rule, signal: signal, input: input, count: subject.count))
        }
    }

    /// Returns the event that the subject refers to. Fixtures refer to the recipient's notes.
    private func referenced(_ id: EventID, _ subject: TrialSubject, of account: PublicKey) -> ReferencedEvent {
        guard var referenced = subject.referenced, referenced.id == id else { return ReferencedEvent(id: id) }
        referenced.author = account
        referenced.authorName = AuthorName.standIn(for: account)
        return referenced
    }

    private func mentioned(_ subject: TrialSubject, _ account: PublicKey) -> [NostrReference: String] {
        var known: [NostrReference: String] = [:]
        if let name = authorName ?? subject.authorName { known[.profile(subject.event.pubkey)] = name }
        if let referenced = subject.referenced, let content = referenced.content {
            known[.event(referenced.id)] = content
        }
        return known
    }

    func rendering(of wakeUp: WakeUp, mode: Mode, on platform: String) -> Rendering {
        let rendering = wakeUp.rule.rendering(
            wakeUp.input,
            signal: wakeUp.signal,
            mode: mode,
            language: language,
            isSilent: wakeUp.rule.isSilent(on: platform),
            now: now
        )
        guard wakeUp.count > 1 else { return rendering }
        return Rendering(
            notification: rules[app].renderSummary(
                count: wakeUp.count,
                signal: wakeUp.signal,
                urgency: rendering.notification.urgency,
                mode: rendering.notification.mode,
                language: language,
                now: now
            )
        )
    }

    private func question(
        _ event: Event,
        _ concern: Relevance,
        of account: PublicKey,
        _ platform: String
    ) -> RuleQuestion {
        var question = RuleQuestion(
            event: event,
            author: concern.author,
            recipient: account,
            relation: concern.relation,
            signal: concern.signal,
            zapMillisats: concern.zap?.millisats
        )
        (question.platform, question.app) = (platform, app)
        (question.language, question.isAuthorFollowed) = (language, isAuthorFollowed)
        return question
    }

    private static func sentence(_ reason: RelevanceError) -> Sentence {
        switch reason {
        case .notTarget: Sentence("not-target", reason.description)
        case .ownZap: Sentence("own-zap", reason.description)
        case .invalidZap: Sentence("invalid-zap", ["detail": reason.description], reason.description)
        }
    }

    private func unmatched(_ kind: Kind) -> Sentence {
        let values = ["kind": "\(kind.rawValue)"]
        guard rules[app].rules.contains(where: { $0.isFor(kind) }) else {
            return Sentence("no-rule", values, "no rule matches kind \(kind.rawValue)")
        }
        return Sentence(
            "no-condition",
            values,
            "there are rules for kind \(kind.rawValue), but the conditions of none hold, or it names no signal"
        )
    }
}
