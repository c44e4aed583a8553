import Console
import Core
import Delivery
import Foundation
import Nostr
import Pipeline
import Push
import Registry
import RouterConfiguration
import Rules

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

    /// Returns devices in the order of their numbers, after `previous`. `account`, as 64 hex digits or npub1…, selects
    /// one account's devices. Throws an ``OperationError``.
    package func list(
        account: String? = nil,
        after previous: Int64? = nil,
        limit: Int = page
    ) throws(OperationError) -> DeviceList {
        let key = try account.map { text throws(OperationError) in try OperatorWords.key(text, "account") }
        let listings = try OperationError.attempt {
            try reader.registry.devices(of: key, after: previous.map(DeviceID.init(rawValue:)), limit: limit + 1)
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
        _ = try OperationError.attempt { try reader.registry.remove(DeviceID(rawValue: device)) }
        return RemovedDevice(removed: overview)
    }

    /// Re-enables a device that was disabled because pushes to it failed for a long time. Throws an
    /// ``OperationError`` if the device does not exist or the registry cannot be written.
    package func enable(_ device: Int64) throws(OperationError) -> EnabledDevice {
        _ = try reader.listing(of: device)
        let isNews = try OperationError.attempt { try reader.registry.enable(DeviceID(rawValue: device)) }
        return EnabledDevice(device: try show(device), wasOff: isNews)
    }

    /// Sends a push to one device. `mode` is a mode's name; nil: the device's own. Like every push, it falls back to a
    /// mode with less content if necessary. The result does not affect the registration. Throws an ``OperationError``
    /// if no push can be attempted.
    package func test(_ device: Int64, mode: String? = nil) async throws(OperationError) -> TestPushAnswer {
        let asked = try mode.map { text throws(OperationError) in try OperatorWords.mode(text) }
        let listing = try reader.listing(of: device)
        guard let address = try OperationError.attempt({ try reader.registry.address(of: listing.device) }) else {
            if reader.registry.isBlocked(listing) {
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
                sealing: try reader.registry.sealing(of: listing.device).map { ($0.key, $0.sender) },
                hasOwnKey: try reader.registry.content(of: listing.device)?.sealingKey != nil
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
            try devices.compactMap { try reader.registry.listing(of: DeviceID(rawValue: $0)) }
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

/// Endpoints for events and devices.
struct DeviceAPI {
    private static let number = APIParameter.path("device", .integer(1...Int64.max), "A device's number.")

    let view: MemberView
    let notifier: Notifier

    var operations: [APIOperation] { [explain, list, show, remove, enable, test, resend] }

    private var explain: APIOperation {
        .report(
            .get("/v1/events/{event}/explain"),
            .events,
            "Explains the results of an event or a notification: the decision of each stage, for each account and device.",
            [
                .path(
                    "event",
                    .text(1_000),
                    "64 hex digits, note1… or nevent1…, or a link with one; or the `id` from POST /v1/notify."
                ),
                .query("recipient", .text(100), "Only this account: 64 hex digits or npub1…. Default: all accounts."),
            ]
        ) { [view, notifier] call in
            let (text, recipient) = (call.path("event"), call.query["recipient"])
            guard let request = OperatorWords.request(text) else {
                return try await view.explain(text, recipient: recipient)
            }
            var whole: EventExplanation?
            for event in try await notifier.events(of: request) {
                let part = try await view.explain(event, recipient: recipient)
                whole = whole?.joined(with: part) ?? part
            }
            guard let whole else { throw EventOperations.unknownRequest }
            return whole
        }
    }

    private var list: APIOperation {
        .report(
            .get("/v1/devices"),
            .devices,
            "Lists devices in the order of their numbers, with the results of their last pushes.",
            [
                .query("account", .text(100), "Only this account: 64 hex digits or npub1…. Default: all accounts."),
                .query("after", .integer(0...Int64.max), "`next` of the previous response."),
                .query("limit", .integer(1...Int64(DeviceOperations.page)), "Page size. Default: 1000."),
            ]
        ) { [view] call in
            try await view.devices(
                account: call.query["account"],
                after: call.query["after"].flatMap { Int64($0) },
                limit: call.query["limit"].flatMap { Int($0) } ?? DeviceOperations.page
            )
        }
    }

    private var show: APIOperation {
        .report(.get("/v1/devices/{device}"), .devices, "Returns a device's details.", [Self.number]) { [view] call in
            try await view.device(call.device)
        }
    }

    private var remove: APIOperation {
        .onDisk(
            .delete("/v1/devices/{device}"),
            .devices,
            "Forgets a device until its app registers again.",
            [Self.number]
        ) { [devices = view.users.devices] call in try devices.remove(call.device) }
    }

    private var enable: APIOperation {
        .onDisk(
            .post("/v1/devices/{device}/enable"),
            .devices,
            "Re-enables a device that was disabled because pushes to it failed for days.",
            [Self.number]
        ) { [devices = view.users.devices] call in try devices.enable(call.device) }
    }

    private var test: APIOperation {
        .report(
            .post("/v1/devices/{device}/test"),
            .devices,
            "Sends a test push to a device, and returns the push service's response.",
            [
                Self.number,
                .query("mode", .choice(["wake", "nudge", "sealed", "alert"]), "Default: the device's own mode."),
            ]
        ) { [devices = view.users.devices] call in try await devices.test(call.device, mode: call.query["mode"]) }
    }

    private var resend: APIOperation {
        .report(
            .post("/v1/devices/{device}/resend"),
            .devices,
            "Requeues the permanently failed pushes to a device, and immediately retries those that wait.",
            [Self.number, .query("dry_run", .flag, "Only count the pushes.")]
        ) { [devices = view.users.devices, view] call in
            let device = try call.device
            _ = try await DiskWork.run { try devices.show(device) }
            return try await view.retry(call.query.merging(["device": "\(device)"]) { $1 })
        }
    }
}

extension APICall {
    /// The device's number in the path.
    fileprivate var device: Int64 {
        get throws(OperationError) {
            guard let number = Int64(path("device")) else { throw .unknown("device: expected a number") }
            return number
        }
    }
}

/// A device that an operator removed from the reader.registry.
package struct RemovedDevice: OperatorAnswer, Equatable {
    /// The device before its removal.
    package var removed: DeviceOverview

    package var text: String {
        "removed device \(removed.device), \(removed.platform)/\(removed.app), of \(removed.npub)\n"
            + "Its app registers it again when it sends a newer registration."
    }
}

/// A device that an operator re-enabled.
package struct EnabledDevice: OperatorAnswer, Equatable {
    /// The device's current state.
    package var device: DeviceOverview
    /// Whether the device was disabled before.
    package var wasOff: Bool

    package var text: String {
        wasOff
            ? "device \(device.device), \(device.platform)/\(device.app), of \(device.npub) is switched on again"
            : "device \(device.device) was not switched off"
    }
}
