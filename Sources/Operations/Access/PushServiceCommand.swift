import HTTPLanes
import Logging
import NIOCore
import NIOPosix
import PluginHost
import RouterConfiguration
import Streams
import Units
import YAMLReading

/// Something an operator asks of a push service that is no delivery, done by the platform's plugin with the configured
/// credentials. It opens no store, so that it can run beside the router.
package struct PushServiceCommand {
    private let platform: LonePlatform

    package init(configuration: Configuration, app: String, platform: String) {
        self.platform = LonePlatform(configuration: configuration, app: app, platform: platform)
    }

    /// What the plugin answers to `words`, or why it cannot be asked; `help` lists what there is.
    ///
    /// Throws when a file with roots cannot be read, or sockets cannot be opened.
    package func run(_ words: [String]) async throws -> PushServiceAnswer {
        do {
            return try await platform.withTransport { _, transport in
                PushServiceAnswer(isGood: true, text: try await transport.command(words))
            }
        } catch let failure as OperationFailure {
            return .refused("\(failure)")
        } catch let failure as PluginError {
            return .refused("\(failure)")
        } catch let mistakes as Diagnostics {
            return .refused("\(mistakes)")
        }
    }
}

/// What came of asking a push service for something that is no delivery.
package struct PushServiceAnswer: Sendable, Hashable {
    package var isGood: Bool
    /// What was asked for, or what is wrong and what was expected.
    package var text: String

    package init(isGood: Bool, text: String) {
        self.isGood = isGood
        self.text = text
    }

    static func refused(_ text: String) -> PushServiceAnswer {
        PushServiceAnswer(isGood: false, text: text)
    }
}

/// One platform of one app, with the configured credentials and without a router around it.
struct LonePlatform {
    let configuration: Configuration
    let app: String
    let platform: String

    /// Loads the plugins, makes the transport, and lets go of everything when `body` has returned.
    ///
    /// Throws an ``OperationFailure`` for an app or platform that there is not, what the plugin says of its block, what
    /// `body` throws, `Diagnostics` when the program is missing that runs plugins, and when a file with roots cannot be
    /// read or sockets cannot be opened.
    func withTransport<Value: Sendable>(
        _ body: (PluginHost, TransportInstance) async throws -> Value
    ) async throws -> Value {
        guard let platforms = configuration.apps[app]?.platforms else {
            throw OperationFailure.invalid(
                "there is no app \(app) in the configuration; there are: \(Self.list(configuration.apps.keys))"
            )
        }
        guard let block = platforms[platform] else {
            throw OperationFailure.invalid(
                "the app \(app) is not configured for \(platform); it is for: \(Self.list(platforms.keys))"
            )
        }
        if let lack = block.unset.first { throw OperationFailure.unavailable("\(lack)") }
        let log = Logger(label: "carillon.push") { _ in SwiftLogNoOpLogHandler() }
        let host = try configuration.plugins.load(log: log)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let lanes = try HTTPLanes(configuration: configuration.lanes, group: group, logger: log)
        let streams = try NetworkStreams(configuration: configuration.lanes, group: group, logger: log)
        let deadlines = Task { await host.run() }
        let result: Result<Value, any Error>
        do {
            let transport = try host.makeTransport(
                platform: platform,
                app: app,
                configuration: block.json,
                settings: InstanceSettings(sender: lanes, streams: streams, log: log)
            )
            result = .success(try await body(host, transport))
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
