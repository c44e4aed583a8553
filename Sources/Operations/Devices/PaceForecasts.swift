import Delivery
import Nostr
import Notifications
import Pipeline
import Registry
import RouterConfiguration
import Units

/// How devices are woken now, and what waits for their time: a ``PaceForecast`` of each, made of what the outbox keeps.
/// What cannot be read is left out. Reads files.
struct PaceForecasts: Sendable {
    private let registry: Registry
    private let files: OperatorFiles
    private let configuration: @Sendable () -> Configuration
    private let deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    private let now: @Sendable () -> Timestamp

    init(
        registry: Registry,
        files: OperatorFiles,
        configuration: @escaping @Sendable () -> Configuration,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        self.files = files
        self.configuration = configuration
        self.deliveryID = deliveryID
        self.now = now
    }

    /// How each of these devices is woken now; empty when that cannot be read.
    func forecasts(of devices: [DeviceID]) -> [DeviceID: PaceForecast] {
        guard let stored = try? files.outbox.paces(of: devices) else { return [:] }
        let (policy, defaultMode) = (configuration().pacing, configuration().defaultMode)
        var forecasts: [DeviceID: PaceForecast] = [:]
        // Where one device waits for room many do: each queue is counted once.
        var crowded: [QueueName: Bool] = [:]
        for device in devices {
            guard let preferences = (try? registry.preferences(of: device))?.pace else { continue }
            let listing = try? registry.listing(of: device)
            let route = listing?.route
            forecasts[device] = PaceForecast(
                stored[device]?.row,
                stored[device]?.held ?? [],
                preferences: preferences,
                on: route?.platform ?? "",
                mode: listing?.mode ?? defaultMode,
                policy: policy,
                at: now()
            ) {
                guard let route else { return false }
                let queue = QueueName(platform: route.platform, app: route.app)
                let isCrowded = crowded[queue] ?? isCrowded(queue)
                crowded[queue] = isCrowded
                return isCrowded
            }
        }
        return forecasts
    }

    /// Whether what waits for a queue's devices may lack room in the outbox; false where that cannot be told.
    private func isCrowded(_ queue: QueueName) -> Bool {
        (try? files.outbox.isCrowded(queue, limit: files.mostWaiting)) ?? false
    }

    /// Why and until when events are held for these devices, by the delivery that they would be.
    func held(for devices: [DeviceID]) -> [DeliveryID: (words: String, ending: EventExplanation.Ending)] {
        var held: [DeliveryID: (words: String, ending: EventExplanation.Ending)] = [:]
        for (device, forecast) in forecasts(of: devices) {
            for group in forecast.groups {
                held[deliveryID(group.event, device)] = (
                    HoldWords.words(group, forecast.pace.quiet), HoldWords.ending(group)
                )
            }
        }
        return held
    }

    /// What waits for a device's time, and why and until when, in words.
    func heldGroups(of device: DeviceID) -> [(group: PaceForecast.Group, words: String)] {
        guard let forecast = forecasts(of: [device])[device] else { return [] }
        return forecast.groups.map { ($0, HoldWords.words($0, forecast.pace.quiet)) }
    }
}
