import Logging
import Notifications
import PluginHost
import RouterConfiguration

/// Sends test pushes without a router: each loads its platform's plugin.
struct ConfiguredTestPushes: TestPushSender {
    let configuration: Configuration

    var defaultMode: Mode { configuration.defaultMode }

    /// Where the plugin cannot be loaded it does not matter.
    func seals(_ platform: String) -> Bool {
        PluginHost(
            loading: PluginSearch(folders: configuration.plugins.folders, pins: configuration.plugins.pins),
            log: Logger(label: "carillon.push") { _ in SwiftLogNoOpLogHandler() }
        )
        .encryptingPlatforms.contains(platform)
    }

    func send(
        _ notification: Notifications.Notification,
        id: String,
        to address: DeviceAddress
    ) async throws(OperationFailure) -> Outcome {
        let platform = LonePlatform(configuration: configuration, app: address.app, platform: address.platform)
        do {
            return try await platform.withTransport { _, transport in
                await withCheckedContinuation { continuation in
                    transport.deliver(notification, id: id, to: address) { continuation.resume(returning: $0) }
                }
            }
        } catch let failure as OperationFailure {
            throw failure
        } catch {
            throw .unavailable("\(error)")
        }
    }
}
