import Console
import Core
import Delivery
import Nostr
import Pipeline
import Push
import Registry
import RouterConfiguration

/// What operators ask about devices, and do to them. The same in the router, for its API, and on its files, for the
/// commands. Callable from any thread; reads files, so not for those that must not wait.
package final class DeviceOperations: Sendable {
    /// Devices in one answer.
    package static let page = 1_000

    package let reader: DeviceReader
    private let trial: Trial

    package init(_ reader: DeviceReader, services: any TrialServices) {
        self.reader = reader
        trial = Trial(services)
    }

    var registry: Registry { reader.registry }

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
        let recipient = try OperationFailure.attempt {
            Trial.Recipient(
                address: address,
                sealing: try registry.sealing(of: listing.device).map { ($0.key, $0.sender) },
                hasOwnKey: try registry.content(of: listing.device)?.sealingKey != nil
            )
        }
        let mode = asked ?? listing.mode ?? reader.configuration().defaultMode
        if mode == .sealed, recipient.sealing == nil, trial.seals(for: recipient) {
            throw .unavailable(
                Sentence(
                    "device-key-lost",
                    ["device": "\(device)"],
                    "the device is registered to a key that the router no longer has: carillon keys show"
                )
            )
        }
        let id = DeliveryIDs.fresh()
        do {
            let result = try await trial.deliver(.test(in: mode, at: reader.now()), id: id, to: recipient)
            return TestPushAnswer(listing.device, address, id, result)
        } catch let failure as OperationFailure {
            throw failure
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// What this router alone knows of devices: of the accounts that it `owns` also how they are woken. Those that are
    /// not registered are left out.
    func facts(of devices: [Int64], owns: (PublicKey) -> Bool) throws(OperationFailure) -> [DeviceFacts] {
        let listings = try OperationFailure.attempt {
            try devices.compactMap { try registry.listing(of: DeviceID(rawValue: $0)) }
        }
        return zip(listings, reader.overviews(of: listings)).map { DeviceFacts($1, isOwner: owns($0.account)) }
    }
}

/// What came of a test push.
package struct TestPushAnswer: OperatorAnswer, Equatable {
    /// A mode in which it does not pass.
    package struct Reduction: Codable, Sendable, Hashable {
        package var mode: String
        /// The push service's HTTP status; 0: it was not asked.
        package var status: Int
        /// One word of a small fixed set.
        package var reason: String

        init(_ reduction: TrialResult.Reduction) {
            mode = reduction.mode.name
            status = Int(reduction.outcome.status)
            reason = reduction.reason
        }
    }

    package var device: Int64
    package var platform: String
    package var app: String
    /// That of the push which the answer is about.
    package var mode: String
    /// In which modes it went out before, saying more.
    package var reductions: [Reduction]
    /// The id of this delivery, which push services show in their tools.
    package var delivery: String
    /// By its word: delivered, gone, rejected, retry or misconfigured.
    package var outcome: String
    /// The push service's HTTP status; 0: it gave none.
    package var status: Int
    /// One word of a small fixed set.
    package var reason: String

    package var isDelivered: Bool { outcome == "delivered" }

    package var text: String {
        let head = "device \(device), \(platform)/\(app), mode \(mode), delivery \(delivery)"
        let less = reductions.map { reduction in
            let why = ReportWords.said(reduction.status, reduction.reason, to: "")
            return "mode \(reduction.mode) does not pass (\(why)): it goes out again, saying less, as every push does"
        }
        return ([head] + less + [answer, meaning]).joined(separator: "\n")
    }

    private var answer: String {
        let said = ReportWords.said(status, reason, to: outcome)
        if status > 0 || isDelivered { return "the push service's answer: \(said.isEmpty ? "none" : said)" }
        let why = said.isEmpty ? "" : " (\(said))"
        return outcome == "retry" ? "no answer from the push service\(why)" : "the push service was not asked\(why)"
    }

    private var meaning: String {
        let isAnswered = status > 0
        return switch outcome {
        case "delivered": "delivered: it took the push; whether the device shows it is up to the device"
        case "gone": "gone: it says that this registration is dead; the registration was left as it is"
        case "rejected" where isAnswered: "rejected: it will never take this push"
        case "rejected": "rejected: no such push can go to what the device registered"
        case "retry" where isAnswered: "failed: it may take the push later"
        case "retry": "failed: the push may get through later"
        case "misconfigured" where isAnswered:
            "misconfigured: it refuses the router's credentials, or they lack something"
        case "misconfigured": "misconfigured: the router's credentials lack something or cannot be used"
        default: outcome
        }
    }

    init(_ device: DeviceID, _ address: DeviceAddress, _ id: DeliveryID, _ result: TrialResult) {
        self.device = device.rawValue
        platform = address.platform
        app = address.app
        mode = result.mode.name
        reductions = result.reductions.map(Reduction.init)
        delivery = id.description
        outcome = "\(result.outcome.kind)"
        status = Int(result.outcome.status)
        reason = result.reason
    }
}
