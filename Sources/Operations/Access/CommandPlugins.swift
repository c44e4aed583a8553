import Core
import HTTPClient
import Logging
import NIOCore
import NIOPosix
import PluginHost
import Push
import RouterConfiguration
import Storage

/// The plugins that a command loads to know their platforms.
package struct CommandPlugins: Sendable {
    package let host: PluginHost
    /// The directories that were searched.
    package let folders: [String]

    /// Loads the plugins in `folders`, which runs their code. Default: the configuration's folders, or without a
    /// configuration those next to the program.
    ///
    /// Throws an error if the program that runs plugins is missing.
    package init(_ configuration: Configuration? = nil, folders: [String] = []) throws(Diagnostics) {
        var plugins = configuration?.plugins ?? Configuration.Plugins(folders: Configuration.Plugins.installedFolders)
        if !folders.isEmpty { (plugins.folders, plugins.pins) = (folders, [:]) }
        self.folders = plugins.folders
        host = try plugins.load(log: Logger(label: "carillon.plugins") { _ in SwiftLogNoOpLogHandler() })
    }

    package var platforms: KnownPlatforms { KnownPlatforms(host) }
}

/// The result of a request to a push service that is not a delivery.
package struct PushServiceAnswer: Sendable, Hashable {
    package var isGood: Bool
    /// The requested information, or the problem and how to fix it.
    package var text: String

    package init(isGood: Bool, text: String) {
        self.isGood = isGood
        self.text = text
    }
}

/// One platform of one app, with the configured credentials but without a router. It opens no store, so that it can run
/// next to the router.
package struct StandalonePlatform {
    private let configuration: Configuration
    private let app: String
    private let platform: String

    package init(_ platform: String, of app: String, _ configuration: Configuration) {
        (self.platform, self.app, self.configuration) = (platform, app, configuration)
    }

    /// Runs the plugin's command `words`. Returns its response, or the reason why there is none. `help` lists commands.
    ///
    /// Throws if a file with root certificates cannot be read, or sockets cannot be opened.
    package func run(_ words: [String]) async throws -> PushServiceAnswer {
        do {
            return try await withTransport { transport in
                PushServiceAnswer(isGood: true, text: try await transport.command(words))
            }
        } catch let failure as OperationError {
            return PushServiceAnswer(isGood: false, text: "\(failure)")
        } catch let failure as PluginError {
            return PushServiceAnswer(isGood: false, text: "\(failure)")
        } catch let mistakes as Diagnostics {
            return PushServiceAnswer(isGood: false, text: "\(mistakes)")
        }
    }

    /// Loads the plugins, makes the transport, and releases both when `body` has returned.
    ///
    /// Throws an ``OperationError`` for an unknown app or platform, the plugin's error about its block, and errors of
    /// `body`. Throws `Diagnostics` if the program that runs plugins is missing, and other errors if a file with root
    /// certificates cannot be read or sockets cannot be opened.
    func withTransport<Value: Sendable>(
        _ body: (TransportInstance) async throws -> Value
    ) async throws -> Value {
        guard let platforms = configuration.apps[app]?.platforms else {
            throw OperationError.invalid(
                "the configuration has no app \(app); its apps: \(Self.list(configuration.apps.keys))"
            )
        }
        guard let block = platforms[platform] else {
            throw OperationError.invalid(
                "the app \(app) has no platform \(platform); its platforms: \(Self.list(platforms.keys))"
            )
        }
        if let lack = block.unset.first { throw OperationError.unavailable("\(lack)") }
        let log = Logger(label: "carillon.push") { _ in SwiftLogNoOpLogHandler() }
        let host = try configuration.plugins.load(log: log)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let lanes = try HTTPLanes(configuration: configuration.http.lanes, group: group, logger: log)
        let streams = try NetworkStreams(configuration: configuration.http.lanes, group: group, logger: log)
        let deadlines = Task { await host.run() }
        let result: Result<Value, any Error>
        do {
            let transport = try host.makeTransport(
                platform: platform,
                app: app,
                configuration: block.json(for: host.platformCatalog[platform]),
                settings: InstanceSettings(sender: lanes, streams: streams, log: log)
            )
            result = .success(try await body(transport))
        } catch {
            result = .failure(error)
        }
        deadlines.cancel()
        await host.shutDown(within: .seconds(1))
        await lanes.shutdown()
        try await group.shutdownGracefully()
        return try result.get()
    }

    private static func list(_ names: some Sequence<String>) -> String {
        let names = names.sorted()
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}

/// Checks the configured credentials with the push services, without a notification. Some plugins can ask their push
/// service (command `check`). The others push to a device that does not exist: a push service checks the credentials
/// first, so an error about the device shows that they are accepted.
package struct CredentialProbe {
    /// A push service's decision on the credentials.
    package enum Decision: Sendable, Hashable {
        case accepted
        /// The reason is from the push service or from the plugin.
        case refused(String)
        /// The check was not possible.
        case unknown(String)
    }

    private let trial: Trial
    private let command: Command
    private let now: @Sendable () -> Timestamp

    /// Runs a command of a platform's plugin, for the default app.
    package typealias Command = @Sendable (_ platform: String, _ words: [String]) async throws -> PushServiceAnswer

    package init(_ configuration: Configuration, now: @escaping @Sendable () -> Timestamp) {
        self.init(
            services: ConfiguredServices(configuration: configuration),
            command: { platform, words in
                try await StandalonePlatform(platform, of: Configuration.App.defaultName, configuration).run(words)
            },
            now: now
        )
    }

    package init(
        services: any TrialServices,
        command: @escaping Command,
        now: @escaping @Sendable () -> Timestamp
    ) {
        trial = Trial(services)
        self.command = command
        self.now = now
    }

    /// Runs the plugin's `check` command for `platform`.
    package func check(_ platform: String) async -> Decision {
        let answer: PushServiceAnswer
        do {
            answer = try await command(platform, ["check"])
        } catch {
            return .unknown("\(error)")
        }
        // The prefixes are those of PluginKit's `CommandAnswer`.
        if answer.isGood { return .accepted }
        for (start, decision) in [("refused: ", Decision.refused), ("unknown: ", Decision.unknown)]
        where answer.text.hasPrefix(start) {
            return decision(String(answer.text.dropFirst(start.count)))
        }
        return .unknown(answer.text)
    }

    /// Pushes to a well-formed `token` of `platform` that no device has, for the default app.
    package func ask(_ platform: String, token: String) async -> Decision {
        do {
            let outcome = try await outcome(.wake, platform, token, isProven: false)
            let said = ReportWords.explained(Int(outcome.status), outcome.reason, to: "")
            return switch outcome.kind {
            // The plugin rejected it itself, without a request to the push service.
            case .rejected where outcome.status == 0: .unknown(said)
            case .delivered, .gone, .rejected: .accepted
            case .misconfigured: .refused(said)
            case .retry: .unknown(said)
            }
        } catch {
            return .unknown("\(error)")
        }
    }

    /// Sends a test notification to the target at `url`. Returns the push service's error, or nil on success.
    package func notify(_ platform: String, at url: String) async -> String? {
        do {
            let outcome = try await outcome(.alert, platform, url, isProven: true)
            guard outcome.kind != .delivered else { return nil }
            let said = ReportWords.explained(Int(outcome.status), outcome.reason, to: "")
            return said.isEmpty ? "\(outcome.kind)" : said
        } catch {
            return "\(error)"
        }
    }

    private func outcome(_ mode: Mode, _ platform: String, _ token: String, isProven: Bool) async throws -> Outcome {
        let address = DeviceAddress(
            platform: platform,
            app: Configuration.App.defaultName,
            token: token,
            registeredAt: now(),
            isProven: isProven
        )
        return try await trial.deliver(
            .test(in: mode, at: now()),
            id: DeliveryIDs.fresh(),
            to: Trial.Recipient(address: address, sealing: nil)
        )
        .outcome
    }
}
