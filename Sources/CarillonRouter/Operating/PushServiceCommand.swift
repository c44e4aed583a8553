import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import PluginHost

/// Something an operator asks of a push service that is no delivery, done by the platform's plugin with the configured
/// credentials. It opens no store, so that it can run beside the router.
package struct PushServiceCommand {
    private let configuration: Configuration
    private let app: String
    private let platform: String

    package init(configuration: Configuration, app: String, platform: String) {
        self.configuration = configuration
        self.app = app
        self.platform = platform
    }

    /// What the plugin answers to `words`, or why it cannot be asked; `help` lists what there is.
    ///
    /// Throws when a file with roots cannot be read, or sockets cannot be opened.
    package func run(_ words: [String]) async throws -> PushServiceAnswer {
        guard let platforms = configuration.apps[app]?.platforms else {
            return .refused("--app: there is no app \(app); there are: \(Self.list(configuration.apps.keys))")
        }
        guard let block = platforms[platform] else {
            return .refused("the app \(app) is not configured for \(platform); it is for: \(Self.list(platforms.keys))")
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let log = Logger(label: "carillon.push") { _ in SwiftLogNoOpLogHandler() }
        let lanes = try HTTPLanes(configuration: configuration.lanes, group: group, logger: log)
        let host = PluginHost(
            loading: PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins),
            log: log
        )
        let answer = await answer(of: host, to: words, block.json, InstanceSettings(sender: lanes, log: log))
        await host.shutDown(within: 1_000)
        await lanes.shutdown()
        try await group.shutdownGracefully()
        return answer
    }

    private func answer(
        of host: PluginHost,
        to words: [String],
        _ block: String,
        _ settings: InstanceSettings
    ) async -> PushServiceAnswer {
        let deadlines = Task { await host.run() }
        defer { deadlines.cancel() }
        do {
            let transport = try host.makeTransport(
                platform: platform,
                app: app,
                configuration: block,
                settings: settings
            )
            return PushServiceAnswer(isGood: true, text: try await transport.command(words))
        } catch {
            return .refused("\(error)")
        }
    }

    private static func list(_ names: some Sequence<String>) -> String {
        let names = names.sorted()
        return names.isEmpty ? "none" : names.joined(separator: ", ")
    }
}
