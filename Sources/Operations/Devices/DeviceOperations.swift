import Console
import Core
import Delivery
import Nostr
import Pipeline
import Push
import Registry
import RouterConfiguration

/// The operator's requests about devices. The router uses it for its API, the commands use it on the files. All
/// functions are thread-safe, but they block while they read files.
package final class DeviceOperations: Sendable {
    /// The maximum number of devices on one page.
    package static let page = 1_000

    package let reader: DeviceReader
    private let trial: Trial

    package init(_ reader: DeviceReader, services: any TrialServices) {
        self.reader = reader
        trial = Trial(services)
    }

    var registry: Registry { reader.registry }

    /// Returns devices in the order of their numbers, after `previous`. `account`, as 64 hex digits or npub1…, selects
    /// one account's devices. Throws an ``OperationError``.
    package func list(
        account: String? = nil,
        after previous: Int64? = nil,
        limit: Int = page
    ) throws(OperationError) -> DeviceList {
        let key = try account.map { text throws(OperationError) in try OperatorWords.key(text, "account") }
        let listings = try OperationError.attempt {
            try registry.devices(of: key, after: previous.map(DeviceID.init(rawValue:)), limit: limit + 1)
        }
        let (shown, last) = listings.page(limit)
        var list = DeviceList(devices: reader.overviews(of: shown), next: last?.device.rawValue)
        if previous == nil { list.waiting = try reader.waiting(for: key) }
        return list
    }

    /// Throws an ``OperationError`` if the device does not exist.
    package func show(_ device: Int64) throws(OperationError) -> DeviceOverview {
        let listing = try reader.listing(of: device)
        return reader.overviews(of: [listing])[0]
    }

    /// Forgets a device as if its push service had reported it gone. Only a newer registration event restores it.
    /// Throws an ``OperationError`` if the device does not exist or the registry cannot be written.
    package func remove(_ device: Int64) throws(OperationError) -> RemovedDevice {
        let overview = try show(device)
        _ = try OperationError.attempt { try registry.remove(DeviceID(rawValue: device)) }
        return RemovedDevice(removed: overview)
    }

    /// Re-enables a device that was disabled because pushes to it failed for a long time. Throws an
    /// ``OperationError`` if the device does not exist or the registry cannot be written.
    package func enable(_ device: Int64) throws(OperationError) -> EnabledDevice {
        _ = try reader.listing(of: device)
        let isNews = try OperationError.attempt { try registry.enable(DeviceID(rawValue: device)) }
        return EnabledDevice(device: try show(device), wasOff: isNews)
    }

    /// Sends a push to one device. `mode` is a mode's name; nil: the device's own. Like every push, it falls back to a
    /// mode with less content if necessary. The result does not affect the registration. Throws an ``OperationError``
    /// if no push can be attempted.
    package func test(_ device: Int64, mode: String? = nil) async throws(OperationError) -> TestPushAnswer {
        let asked = try mode.map { text throws(OperationError) in try OperatorWords.mode(text) }
        let listing = try reader.listing(of: device)
        guard let address = try OperationError.attempt({ try registry.address(of: listing.device) }) else {
            if registry.isBlocked(listing) {
                throw .unavailable(
                    Sentence(
                        "device-blocked",
                        ["device": "\(device)"],
                        "device \(device) is out of use because its account is blocked: carillon users rules shows the rule"
                    )
                )
            }
            throw .unknown(Sentence("unknown-device", ["device": "\(device)"], "there is no device \(device)"))
        }
        let recipient = try OperationError.attempt {
            Trial.Recipient(
                address: address,
                sealing: try registry.sealing(of: listing.device).map { ($0.key, $0.sender) },
                hasOwnKey: try registry.content(of: listing.device)?.sealingKey != nil
            )
        }
        let mode = asked ?? listing.mode ?? reader.configuration().defaults.mode
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
        } catch let failure as OperationError {
            throw failure
        } catch {
            throw .unavailable("\(error)")
        }
    }

    /// Returns the facts that only this router knows, with the pacing of accounts that it `owns`. Devices that are not
    /// registered are omitted.
    func facts(of devices: [Int64], owns: (PublicKey) -> Bool) throws(OperationError) -> [DeviceFacts] {
        let listings = try OperationError.attempt {
            try devices.compactMap { try registry.listing(of: DeviceID(rawValue: $0)) }
        }
        return zip(listings, reader.overviews(of: listings)).map { DeviceFacts($1, isOwner: owns($0.account)) }
    }
}

/// The result of a test push.
package struct TestPushAnswer: OperatorAnswer, Equatable {
    /// A mode in which the push could not be sent.
    package struct Reduction: Codable, Sendable, Hashable {
        package var mode: String
        /// The push service's HTTP status; 0 if it was not asked.
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
    /// The mode of the push that this result describes.
    package var mode: String
    /// The modes with more content that were tried before.
    package var reductions: [Reduction]
    /// The ID of this delivery, which push services show in their tools.
    package var delivery: String
    /// One of `delivered`, `gone`, `rejected`, `retry` and `misconfigured`.
    package var outcome: String
    /// The push service's HTTP status; 0 if there is none.
    package var status: Int
    /// One word of a small fixed set.
    package var reason: String

    package var isDelivered: Bool { outcome == "delivered" }

    package var text: String {
        let head = "device \(device), \(platform)/\(app), mode \(mode), delivery \(delivery)"
        let less = reductions.map { reduction in
            let why = ReportWords.said(reduction.status, reduction.reason, to: "")
            return "mode \(reduction.mode) does not pass (\(why)): it is sent again with less content, like every push"
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
