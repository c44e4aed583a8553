import Console
import HTTPLanes
import Logging
import Nostr
import Notifications
import Pipeline
import Platforms
import PluginHost
import RouterConfiguration
import Rules
import Schnorr
import Units
import YAMLReading

/// Shows what events would become: the same rules and the same plugins as in a router that runs, on a host that records
/// requests instead of sending them.
package final class RulesTrial: Sendable {
    /// The built-in rules as a file.
    package static func builtInRules(_ platforms: PlatformCatalog) -> String {
        RuleBook.defaultYAML(platforms: platforms)
    }

    /// What is wrong with plugins that were left out.
    package let refusals: [String]
    private let host: PluginHost
    private let dryRun: DryRun
    private let devices: [SampleDevice]
    private let judge: TrialJudge
    private let mode: Mode
    /// The platforms whose keys were made up.
    private let throwAwayPlatforms: Set<String>
    private let catalog: PlatformCatalog
    /// What is not shown of the blocks in use, by platform.
    private let secrets: [String: BlockSecrets]

    /// Reads the rules and loads the plugins, which runs their code.
    ///
    /// Throws ``TrialFailure`` for an order that cannot be carried out, and the rules files' `Diagnostics`.
    package init(_ order: TrialOrder, now: Timestamp) throws {
        mode = try order.readMode()
        let plugins = try CommandPlugins(order.configuration, folders: order.pluginFolders)
        host = plugins.host
        refusals = host.catalog.refusals.map { "refused \($0.path): \($0.reason)" }
        let known = plugins.platforms
        let rules = try Self.rules(order, known)
        judge = TrialJudge(
            rules: rules,
            recipient: try order.readRecipient(),
            authorName: order.authorName,
            language: try order.readLanguage()?.nearest(among: rules.languages),
            app: order.app,
            isAuthorFollowed: order.isAuthorFollowed,
            now: now
        )
        let (app, configured) = try Self.blocks(order)
        // Whoever tries rules need not have the service's keys.
        let usable = configured.filter(\.value.unset.isEmpty)
        let blocks = usable.mapValues(\.json)
        secrets = usable.mapValues { BlockSecrets($0) }
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
        dryRun = DryRun(
            host: host,
            blocks: blocks,
            platforms: known.catalog,
            sealingAs: try SecretKey(bytes: [UInt8](repeating: 1, count: 32))
        )
        throwAwayPlatforms = Set(
            platforms.filter { blocks[$0] == nil && known.catalog[$0]?.sample.hasGeneratedKeys == true }
        )
    }

    /// What becomes of `subject` on every platform. For one subject at a time.
    ///
    /// Throws ``TrialFailure`` when the event does not say who the recipient is.
    package func run(_ subject: TrialSubject) async throws(TrialFailure) -> TrialReport {
        // Ends the trial of a plugin that never answers.
        let keeper = Task { [host] in await host.run() }
        defer { keeper.cancel() }
        var verdicts: [TrialJudge.Verdict] = []
        for device in devices { verdicts.append(try judge.verdict(on: subject, platform: device.address.platform)) }
        let decisive =
            verdicts.first(where: \.wakesSomebody) ?? verdicts.first
            ?? .wakesNobody(Sentence("no-platform", [:], "there is no platform"))
        var report = TrialReport(subject: subject, verdict: decisive)
        guard decisive.wakesSomebody else { return report }
        for (device, verdict) in zip(devices, verdicts) {
            switch verdict {
            case .wakesNobody(let reason, _):
                report.deliveries.append(silence(of: device.address.platform, reason))
            case .wakes(let wakeUp):
                if wakeUp.rule.mode < mode { report.isCutByRule = true }
                var delivery = await delivery(of: wakeUp, to: device)
                if wakeUp.rule.name != report.ruleName { delivery.ruleName = wakeUp.rule.name }
                report.deliveries.append(delivery)
            }
        }
        return report
    }

    /// Rules may wake devices of some platforms only.
    private func silence(of platform: String, _ reason: Sentence) -> TrialDelivery {
        TrialDelivery(
            platform: platform,
            hasThrowAwayKeys: false,
            leftOut: [],
            outcome: .spared(reason)
        )
    }

    /// Lets the plugins end.
    package func close() async {
        await host.shutDown(within: .seconds(2))
    }

    private func delivery(of wakeUp: TrialJudge.WakeUp, to device: SampleDevice) async -> TrialDelivery {
        let platform = device.address.platform
        let rendering = judge.rendering(of: wakeUp, mode: mode, on: platform)
        // The router's own envelopes hold no platform's block.
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
            let words = "nothing goes out: the event gives no fitting value for \(keys), which has to be there"
            delivery.outcome = .failed(TrialFailure(description: words, says: Statement("withheld", ["keys": keys])))
            return delivery
        }
        let secrets = secrets[platform] ?? BlockSecrets()
        do {
            var result = try await dryRun.deliver(rendering.notification, id: DeliveryIDs.trial, to: device)
            delivery.size = result.request.flatMap { PushSize($0, catalog[platform]?.limits) }
            delivery.unsealed = result.request.flatMap { SealedBody.plaintext(in: $0.body, for: device) }
            result.request = result.request.map(secrets.blanking)
            delivery.outcome = .made(result)
        } catch {
            delivery.outcome = .failed(TrialFailure(description: secrets.blanking("\(error)")))
        }
        return delivery
    }

    private static func rules(_ order: TrialOrder, _ platforms: KnownPlatforms) throws(Diagnostics) -> RuleBook {
        if let text = order.rulesText {
            return try RuleBook(
                files: [RulesFile(name: "rules", text: text)],
                platforms: platforms.catalog,
                blockChecks: platforms.blockChecks
            )
        }
        if order.rulesFiles.isEmpty, let configuration = order.configuration {
            return try configuration.loadRules(platforms)
        }
        return try RulesFiles(order.rulesFiles, platforms).read()
    }

    /// The platforms to show, in the order they were named in.
    private static func platforms(
        _ order: TrialOrder,
        configured: some Sequence<String>,
        _ plugins: CommandPlugins
    ) throws(TrialFailure) -> [String] {
        let loaded = plugins.host.platforms
        guard !loaded.isEmpty else {
            throw TrialFailure(
                description: plugins.folders.isEmpty
                    ? "no plugins: plugins.folders of the configuration is empty; --plugins names a folder with some"
                    : "no plugins in \(plugins.folders.joined(separator: ", ")); --plugins names a folder with some"
            )
        }
        for platform in order.platforms where !loaded.contains(platform) {
            throw TrialFailure(
                description: "--platform: no plugin serves '\(platform)', only \(loaded.joined(separator: ", "))"
            )
        }
        if !order.platforms.isEmpty { return order.platforms }
        let wanted = loaded.filter(Set(configured).contains)
        return wanted.isEmpty ? loaded : wanted
    }

    /// The app's name, and its blocks by platform.
    private static func blocks(
        _ order: TrialOrder
    ) throws(TrialFailure) -> (String, [String: Configuration.PlatformBlock]) {
        guard let configuration = order.configuration, !order.isWithoutBlocks else { return (order.app, [:]) }
        guard let app = configuration.apps[order.app] else {
            throw TrialFailure(
                description: "--app: the configuration has no app '\(order.app)', only "
                    + (configuration.apps.keys.sorted().joined(separator: ", ").nonEmpty ?? "none at all")
            )
        }
        return (order.app, app.platforms)
    }
}

extension String {
    fileprivate var nonEmpty: String? { isEmpty ? nil : self }
}
