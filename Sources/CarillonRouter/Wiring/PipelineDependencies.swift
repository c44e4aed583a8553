import Logging
import Nostr
import Notifications
import Operations
import Pipeline
import Platforms
import PluginHost
import Registry
import RemoteSigning
import RouterConfiguration
import Rules
import Sealing

extension Configuration {
    /// What the pipeline goes by.
    func pipelineSettings(
        _ rules: RuleBook,
        _ filters: Filters,
        _ platforms: PlatformCatalog,
        plugins: PluginHost
    ) -> PipelineSettings {
        PipelineSettings(
            rules: rules,
            filters: filters.all,
            defaultMode: defaultMode,
            encryptingPlatforms: plugins.encryptingPlatforms,
            showingPlatforms: plugins.showingPlatforms,
            contextWait: context.wait,
            contextPath: contextPath,
            usesContext: context.isOn,
            pacing: pacing.adding(silentPushesPerHour: platforms.silentPushesPerHour)
        )
    }
}

/// The sessions of NIP-46 as the pipeline knows them.
struct PipelineSigner: RemoteSigner {
    let service: RemoteSigningService

    func receive(_ event: Event, from source: EventSource, register: (Event) -> EventVerdict.Result) {
        service.receive(event, from: source.requestSource) { registration in
            switch register(registration) {
            case .accepted, .duplicate, .outdated: .accepted
            case .refused(let message): .refused(message)
            }
        }
    }

    func admits(_ registration: Event) -> Bool { service.admits(registration) }
}

extension EventSource {
    fileprivate var requestSource: RequestSource {
        switch self {
        case .socket: .ownSocket
        case .feed, .relay, .api: .relays
        }
    }
}

/// Seals notifications to what registrations named.
struct DeviceSealer: NotificationSealer {
    let registry: Registry
    let sealer: Sealer
    let logger: Logger

    func seal(
        _ notification: Notifications.Notification,
        id: DeliveryID,
        for device: DeviceID
    ) -> Notifications.Notification? {
        do {
            guard let sealing = try registry.sealing(of: device) else { return nil }
            return try sealer.seal(notification, id: id, for: sealing.key, from: sealing.sender)
        } catch {
            // Not louder: whoever writes long notes could fill the log.
            logger.debug(
                "A notification could not be sealed and says less instead",
                metadata: ["delivery": "\(id)", "device": "\(device.rawValue)", "reason": "\(error)"]
            )
            return nil
        }
    }

    func keyMark(of device: DeviceID) -> Int64? {
        do {
            // Distinguishes senders as well. What was sealed before a router had several keys keeps its mark.
            return try registry.sealing(of: device).map { $0.key.mark &+ Int64($0.senderNumber - 1) }
        } catch {
            // What was sealed before says less then.
            logger.debug(
                "The key that notifications to a device are sealed to could not be read",
                metadata: ["device": "\(device.rawValue)", "reason": "\(error)"]
            )
            return nil
        }
    }
}
