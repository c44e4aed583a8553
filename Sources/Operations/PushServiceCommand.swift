import PluginHost
import RouterConfiguration

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
        }
    }
}
