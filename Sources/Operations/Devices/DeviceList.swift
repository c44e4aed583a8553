import Foundation
import Nostr
import Registry
import RouterConfiguration

/// One page of devices in the order of their numbers.
package struct DeviceList: OperatorAnswer, Equatable {
    package var devices: [DeviceOverview]
    /// The last device of this page; nil on the last page.
    package var next: Int64?
    /// On the first page: registrations that have no effect until the kind 10050 of their root identity names the key
    /// that signed them.
    package var waiting: [WaitingDevice] = []
    /// The members that were asked; nil if the router is not in a cluster.
    package var members: MembersAsked?

    package var text: String {
        let lines = [devices.isEmpty ? "no devices" : table(withHead: true)] + waiting.map(\.text) + missing
        return lines.joined(separator: "\n")
    }

    /// The members that did not respond, one line each.
    package var missing: [String] { members?.lines ?? [] }

    /// Returns a row for each device, with columns as wide as necessary.
    package func table(withHead: Bool) -> String {
        let head = [
            "DEVICE", "ACCOUNT", "NAME", "PLATFORM", "MODE", "LAST SUCCESS", "LAST ERROR", "TODAY", "NEXT PUSH",
        ]
        return TextTable.lines((withHead ? [head] : []) + devices.map(\.row)).joined(separator: "\n")
    }
}

extension DeviceOverview {
    fileprivate var row: [String] {
        let error = lastError.map { error in
            let words = ReportWords.short(kind: error.outcome, status: error.status ?? 0, reason: error.reason ?? "")
            return "\(error.at.minute) \(words)"
        }
        let name = name.isEmpty ? "-" : String(name.prefix(20))
        let success: String? = lastSuccess.map { "\($0.at.prefix(16))Z" }
        let today: String? = pace?.pushesToday.map(String.init)
        let row: [String] = [
            "\(device)", "\(npub.prefix(12))…\(npub.suffix(4))", name, "\(platform)/\(app)", mode ?? "default",
            success ?? "-", error ?? "-", today ?? "-", nextPush,
        ]
        return countsUntil.map { row + ["only until \($0.minute)"] } ?? row
    }

    private var nextPush: String {
        if isBlocked == true { return "blocked" }
        if waitsForCode { return "needs a code" }
        if disabledAt != nil { return "switched off" }
        if queuePause != nil { return "paused" }
        guard let pace else { return "-" }
        return pace.nextPushAt.map { $0.minute } ?? pace.reason ?? "at once"
    }
}

/// A registration that waits for its root identity.
package struct WaitingDevice: Codable, Sendable, Hashable {
    /// The future owner, as hex and as npub.
    package var account: String
    package var npub: String
    /// The key that signed the registration.
    package var key: String
    /// The registration's `d` tag, after the router's key.
    package var name: String

    init(_ registration: WaitingRegistration) {
        account = registration.root.hex
        npub = NIP19.npub(registration.root)
        key = registration.slot.author.hex
        name = registration.slot.deviceID
    }

    package var text: String {
        "waiting: \(name.isEmpty ? "a registration" : "'\(name)'") of \(npub), \(IdentityWords.waiting(key))"
    }
}

/// Reads events, devices and users from the files, even while a router runs. A cluster member's files have only a part
/// of the data, so a running member is asked over its API.
extension RouterOrFiles {
    /// Throws an ``OperationError``, like all functions here.
    package func explain(_ event: String, recipient: String?) async throws -> EventExplanation {
        var parameters: [String: String] = [:]
        parameters["recipient"] = recipient
        if let answer: EventExplanation = try await member("/v1/events/\(Self.segment(event))/explain", parameters) {
            return answer
        }
        return try OperatorAccess(configuration, for: .reading).events.explain(event, recipient: recipient)
    }

    package func devices(account: String?, after previous: Int64?) async throws -> DeviceList {
        var parameters: [String: String] = [:]
        parameters["account"] = account
        parameters["after"] = previous.map { String($0) }
        if let answer: DeviceList = try await member("/v1/devices", parameters) { return answer }
        return try reading.list(account: account, after: previous)
    }

    package func device(_ device: Int64) async throws -> DeviceOverview {
        if let answer: DeviceOverview = try await member("/v1/devices/\(device)") { return answer }
        return try reading.show(device)
    }

    package func user(_ key: String) async throws -> UserOverview {
        if let answer: UserOverview = try await member("/v1/users/\(Self.segment(key))") { return answer }
        return try OperatorAccess(configuration, for: .reading).users.show(key)
    }

    /// Forgets a device: in the files, or while a router runs by its API, which must be configured.
    package func remove(_ device: Int64) async throws -> RemovedDevice {
        do {
            return try OperatorAccess(configuration, for: .changing).operations.remove(device)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            guard configuration.api != nil else {
                throw OperationError.unavailable(
                    "a router runs here, and its configuration has no API to ask it by: stop it, or add api:"
                )
            }
            return try await APIClient(configuration: configuration).answer("DELETE", "/v1/devices/\(device)")
        }
    }

    /// Re-enables a device: by the running router, otherwise in the files.
    package func enable(_ device: Int64) async throws -> EnabledDevice {
        if let answer: EnabledDevice = try await ask("POST", "/v1/devices/\(device)/enable", [:]) {
            return answer
        }
        return try files().operations.enable(device)
    }

    /// Nil if the caller must read the files.
    private func member<Answer: OperatorAnswer>(
        _ path: String,
        _ parameters: [String: String] = [:]
    ) async throws -> Answer? {
        guard configuration.cluster != nil else { return nil }
        return try await ask("GET", path, parameters)
    }

    private var reading: DeviceOperations {
        get throws { try OperatorAccess(configuration, for: .reading).operations }
    }

    private static func segment(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}

/// A device that an operator removed from the registry.
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
