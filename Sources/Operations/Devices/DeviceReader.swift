import Console
import Delivery
import EventTrace
import Nostr
import Notifications
import Pipeline
import Registry
import RouterConfiguration
import Units

/// What is known here of registered devices: by the registry, the trace and the outbox. Reads files.
package struct DeviceReader: Sendable {
    let paces: PaceForecasts
    private let registry: Registry
    private let files: OperatorFiles
    /// A reload may change it.
    private let configuration: @Sendable () -> Configuration

    package init(
        registry: Registry,
        files: OperatorFiles,
        configuration: @escaping @Sendable () -> Configuration,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        self.files = files
        self.configuration = configuration
        paces = PaceForecasts(
            registry: registry,
            files: files,
            configuration: configuration,
            deliveryID: deliveryID,
            now: now
        )
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
        let time = UTCTime(failure.at)
        return Sentence(
            "former-device",
            [
                "device": "\(device)", "outcome": failure.kind,
                "reason": ReportWords.said(failure.status, failure.reason, to: failure.kind), "at": time.stamp,
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
        let forecasts = paces.forecasts(of: listings.map(\.device))
        let pauses = pauses
        let waiting = try? files.outbox.waiting(for: listings.map(\.device))
        return listings.map { listing in
            let queue = QueueName(platform: listing.route.platform, app: listing.route.app)
            let pace = forecasts[listing.device].map(DevicePaceOverview.init)
            var overview = DeviceOverview(
                listing,
                preferences(of: listing),
                isTraced: files.trace != nil,
                statuses[listing.device],
                pace,
                waiting: waiting.map { $0[listing.device] ?? 0 },
                pauses[queue]
            )
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
}
