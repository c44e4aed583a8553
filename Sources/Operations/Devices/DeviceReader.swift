import Console
import Core
import Delivery
import Nostr
import Observability
import Pipeline
import Push
import Registry
import RouterConfiguration

/// What is known here of registered devices: by the registry, the trace and the outbox. Reads files.
package struct DeviceReader: Sendable {
    let registry: Registry
    let files: OperatorFiles
    /// A reload may change it.
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

    func listing(of device: Int64) throws(OperationFailure) -> DeviceListing {
        guard let listing = try OperationFailure.attempt({ try registry.listing(of: DeviceID(rawValue: device)) })
        else {
            throw .unknown(unknown(device))
        }
        return listing
    }

    /// That there is no such device, and why it may have been removed.
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

    /// Registrations of an account, or of all, that wait to become devices.
    func waiting(for root: PublicKey?) throws(OperationFailure) -> [WaitingDevice] {
        try OperationFailure.attempt {
            try registry.waitingRegistrations(for: root, limit: DeviceOperations.page).map { WaitingDevice($0) }
        }
    }

    /// What is not known of a push is left out: a missing trace is no reason to show no devices.
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
            overview.queuePauseSays = pause.map(PauseWords.statement)
            overview.isBlocked = registry.isBlocked(listing) ? true : nil
            return overview
        }
    }

    /// Nil when that cannot be read.
    private func preferences(of listing: DeviceListing) -> DevicePreferencesOverview? {
        guard let preferences = try? registry.preferences(of: listing.device) else { return nil }
        let locale = (try? registry.content(of: listing.device))?.locale
        return DevicePreferencesOverview(preferences, on: listing.route.platform, locale: locale, configuration())
    }

    /// Queues that were paused when the router wrote that down last.
    var pauses: [QueueName: TracedPause] { (try? files.trace?.reader.pauses()) ?? [:] }

    // MARK: When they are woken

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
