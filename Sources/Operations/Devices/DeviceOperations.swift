import Console
import Delivery
import Nostr
import Notifications
import Pipeline
import Registry
import RouterConfiguration
import Sealing
import Units

/// What operators ask about devices, and do to them. The same in the router, for its API, and on its files, for the
/// commands. Callable from any thread; reads files, so not for those that must not wait.
package final class DeviceOperations: Sendable {
    /// Devices in one answer.
    package static let page = 1_000

    let registry: Registry
    private let reader: DeviceReader
    private let sealer: Sealer
    private let sender: any TestPushSender
    private let now: @Sendable () -> Timestamp

    package init(
        registry: Registry,
        reader: DeviceReader,
        sealer: Sealer,
        sender: any TestPushSender,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        self.reader = reader
        self.sealer = sealer
        self.sender = sender
        self.now = now
    }

    /// Devices in the order of their numbers, beginning behind `previous`; `account`, as 64 hex digits or npub1…,
    /// narrows them down to one account's. Throws an ``OperationFailure``.
    package func list(
        account: String? = nil,
        after previous: Int64? = nil,
        limit: Int = page
    ) throws(OperationFailure) -> DeviceList {
        let key = try account.map { text throws(OperationFailure) in try OperatorWords.key(text, "account") }
        let listings = try OperationFailure.attempt {
            try registry.devices(of: key, after: previous.map(DeviceID.init(rawValue:)), limit: limit + 1)
        }
        let shown = Array(listings.prefix(limit))
        var list = DeviceList(
            devices: reader.overviews(of: shown),
            next: listings.count > shown.count ? shown.last?.device.rawValue : nil
        )
        if previous == nil { list.waiting = try reader.waiting(for: key) }
        return list
    }

    /// Throws an ``OperationFailure`` when there is no such device.
    package func show(_ device: Int64) throws(OperationFailure) -> DeviceOverview {
        let listing = try reader.listing(of: device)
        return reader.overviews(of: [listing])[0]
    }

    /// Forgets a device as if its push service had called it gone: the event that registered it does not bring it back,
    /// a later one does. Throws an ``OperationFailure`` when there is no such device or the registry cannot be written.
    package func remove(_ device: Int64) throws(OperationFailure) -> RemovedDevice {
        let overview = try show(device)
        _ = try OperationFailure.attempt { try registry.remove(DeviceID(rawValue: device)) }
        return RemovedDevice(removed: overview)
    }

    /// Switches a device on that was switched off since pushes to it failed for long. Throws an ``OperationFailure``
    /// when there is no such device or the registry cannot be written.
    package func enable(_ device: Int64) throws(OperationFailure) -> EnabledDevice {
        _ = try reader.listing(of: device)
        let isNews = try OperationFailure.attempt { try registry.enable(DeviceID(rawValue: device)) }
        return EnabledDevice(device: try show(device), wasOff: isNews)
    }

    /// Sends a push to one device; `mode` is a mode's name, nil: the device's own. What does not pass in that mode says
    /// less, as every push does. Whatever the answer says, the registration stays. Throws an ``OperationFailure`` when
    /// it cannot even be attempted.
    package func test(_ device: Int64, mode: String? = nil) async throws(OperationFailure) -> TestPushAnswer {
        let asked = try mode.map { text throws(OperationFailure) in try OperatorWords.mode(text) }
        let listing = try reader.listing(of: device)
        guard let address = try OperationFailure.attempt({ try registry.address(of: listing.device) }) else {
            if registry.isBlocked(listing) {
                throw .unavailable(
                    Sentence(
                        "device-blocked",
                        ["device": "\(device)"],
                        "device \(device) is out of use, as its account is blocked: carillon users rules says more"
                    )
                )
            }
            throw .unknown(Sentence("unknown-device", ["device": "\(device)"], "there is no device \(device)"))
        }
        let mode = asked ?? listing.mode ?? sender.defaultMode
        let id = DeliveryIDs.fresh()
        var notification = TestPush(mode: mode, now: now()).notification
        let sealing = try OperationFailure.attempt { try registry.sealing(of: listing.device) }
        let hasOwnKey = try OperationFailure.attempt { try registry.content(of: listing.device)?.sealingKey != nil }
        if mode == .sealed, hasOwnKey || !sender.seals(address.platform) {
            guard let sealing else {
                throw .unavailable(
                    Sentence(
                        "device-key-lost",
                        ["device": "\(device)"],
                        "the device is registered to a key that the router no longer has: carillon keys show"
                    )
                )
            }
            notification = try OperationFailure.attempt {
                try sealer.seal(notification, id: id, for: sealing.key, from: sealing.sender)
            }
        }
        var outcome = try await sender.send(notification, id: id, to: address)
        var reductions: [TestPushAnswer.Reduction] = []
        while let downgraded = notification.downgraded(after: outcome) {
            reductions.append(TestPushAnswer.Reduction(notification.mode, outcome))
            notification = downgraded
            outcome = try await sender.send(notification, id: id, to: address)
        }
        return TestPushAnswer(listing.device, address, notification.mode, reductions, delivery: id.description, outcome)
    }

    /// What this router alone knows of devices: of the accounts that it `owns` also how they are woken. Those that are
    /// not registered are left out.
    func facts(of devices: [Int64], owns: (PublicKey) -> Bool) throws(OperationFailure) -> [DeviceFacts] {
        let listings = try OperationFailure.attempt {
            try devices.compactMap { try registry.listing(of: DeviceID(rawValue: $0)) }
        }
        return zip(listings, reader.overviews(of: listings)).map { DeviceFacts($1, isOwner: owns($0.account)) }
    }

    /// What waits for a device's time, and why and until when, in words.
    func heldGroups(of device: DeviceID) -> [(group: PaceForecast.Group, words: String)] {
        reader.paces.heldGroups(of: device)
    }
}
