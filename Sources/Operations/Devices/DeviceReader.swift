import Console
import Core
import Delivery
import Nostr
import Observability
import Pipeline
import Push
import Registry
import RouterConfiguration

/// Reads the known facts of registered devices from the registry, the trace and the outbox.
package struct DeviceReader: Sendable {
    let registry: Registry
    let files: OperatorFiles
    /// A reload may change the configuration.
    let configuration: @Sendable () -> Configuration
    let deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    let now: @Sendable () -> Timestamp

    package init(
        registry: Registry,
        files: OperatorFiles,
        configuration: @escaping @Sendable () -> Configuration,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        now: @escaping @Sendable () -> Timestamp
    ) {
        (self.registry, self.files, self.configuration) = (registry, files, configuration)
        (self.deliveryID, self.now) = (deliveryID, now)
    }

    func listing(of device: Int64) throws(OperationError) -> DeviceListing {
        guard let listing = try OperationError.attempt({ try registry.listing(of: DeviceID(rawValue: device)) })
        else {
            throw .unknown(unknown(device))
        }
        return listing
    }

    /// The error for an unknown device, with the reason why it may have been removed.
    private func unknown(_ device: Int64) -> Sentence {
        let id = DeviceID(rawValue: device)
        guard let status = (try? files.trace?.reader.statuses(of: [id]))?[id], let failure = status.lastFailure else {
            return Sentence("unknown-device", ["device": "\(device)"], "there is no device \(device)")
        }
        let words = ReportWords.long(kind: failure.kind, status: failure.status, reason: failure.reason)
        let time = failure.at
        return Sentence(
            "former-device",
            [
                "device": "\(device)", "outcome": failure.kind,
                "reason": ReportWords.said(failure.status, failure.reason, to: failure.kind), "at": time.rfc3339,
            ],
            "there is no device \(device) now; the last error of a push to it was \(words) at \(time.words)"
        )
    }

    /// Returns an account's registrations, or all, that have not become devices yet.
    func waiting(for root: PublicKey?) throws(OperationError) -> [WaitingDevice] {
        try OperationError.attempt {
            try registry.waitingRegistrations(for: root, limit: DeviceOperations.page).map { WaitingDevice($0) }
        }
    }

    /// Returns overviews of the devices. Facts that cannot be read, for example without a trace, are omitted.
    func overviews(of listings: [DeviceListing]) -> [DeviceOverview] {
        let statuses = (try? files.trace?.reader.statuses(of: listings.map(\.device))) ?? [:]
        let forecasts = forecasts(of: listings.map(\.device))
        let pauses = pauses
        let waiting = try? files.outbox.waiting(for: listings.map(\.device))
        return listings.map { listing in
            var overview = DeviceOverview(listing, isTraced: files.trace != nil)
            overview.wishes = preferences(of: listing)
            if let status = statuses[listing.device] { overview.add(status) }
            overview.pace = forecasts[listing.device].map(DevicePaceOverview.init)
            overview.waiting = waiting.map { $0[listing.device] ?? 0 }
            let pause = pauses[QueueName(listing.route)]
            overview.queuePause = pause.map(PauseWords.words)
            overview.pauseMessage = pause.map(PauseWords.statement)
            overview.isBlocked = registry.isBlocked(listing) ? true : nil
            return overview
        }
    }

    /// Nil if the registry cannot be read.
    private func preferences(of listing: DeviceListing) -> DevicePreferencesOverview? {
        guard let preferences = try? registry.preferences(of: listing.device) else { return nil }
        let locale = (try? registry.content(of: listing.device))?.locale
        return DevicePreferencesOverview(preferences, on: listing.route.platform, locale: locale, configuration())
    }

    /// The paused queues, as the router last recorded them.
    var pauses: [QueueName: TracedPause] { (try? files.trace?.reader.pauses()) ?? [:] }

    // MARK: Pacing

    /// Returns the pacing state of each device; empty if it cannot be read.
    func forecasts(of devices: [DeviceID]) -> [DeviceID: PaceForecast] {
        guard let stored = try? files.outbox.paces(of: devices) else { return [:] }
        let (policy, defaultMode) = (configuration().defaults.pacing, configuration().defaults.mode)
        var forecasts: [DeviceID: PaceForecast] = [:]
        // A full outbox affects many devices of a queue, so each queue is counted only once.
        var crowded: [QueueName: Bool] = [:]
        for device in devices {
            guard let preferences = (try? registry.preferences(of: device))?.pace else { continue }
            let listing = try? registry.listing(of: device)
            let route = listing?.route
            forecasts[device] = PaceForecast(
                stored[device]?.row,
                stored[device]?.held ?? [],
                pace: policy.pace(for: preferences, on: route?.platform ?? ""),
                mode: listing?.mode ?? defaultMode,
                at: now()
            ) {
                guard let route else { return false }
                let queue = QueueName(route)
                let isCrowded = crowded[queue] ?? isCrowded(queue)
                crowded[queue] = isCrowded
                return isCrowded
            }
        }
        return forecasts
    }

    /// Whether the outbox may lack capacity for a queue's devices; false if unknown.
    private func isCrowded(_ queue: QueueName) -> Bool {
        (try? files.outbox.isCrowded(queue, limit: files.maxWaiting)) ?? false
    }

    /// Returns the hold reason and time of events held for these devices, by their future delivery ID.
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

    /// Returns the groups of events held for a device, each with its reason and time in words.
    func heldGroups(of device: DeviceID) -> [(group: PaceForecast.Group, words: String)] {
        guard let forecast = forecasts(of: [device])[device] else { return [] }
        return forecast.groups.map { ($0, HoldWords.words($0, forecast.pace.quiet)) }
    }
}
