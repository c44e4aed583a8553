import Foundation
import Nostr
import Registry
import RouterConfiguration

/// Devices in the order of their numbers, as far as one answer goes.
package struct DeviceList: OperatorAnswer, Equatable {
    package var devices: [DeviceOverview]
    /// Behind which device the next answer begins; nil: there are no more.
    package var next: Int64?
    /// Registrations without effect until their root identity's kind 10050 names the key that signed them; with the
    /// first devices.
    package var waiting: [WaitingDevice] = []
    /// Who was asked; nil: the router serves alone.
    package var members: MembersAsked?

    package var text: String {
        let lines = [devices.isEmpty ? "no devices" : table(withHead: true)] + waiting.map(\.text) + missing
        return lines.joined(separator: "\n")
    }

    /// Members whose part is missing, a line each.
    package var missing: [String] { members?.lines ?? [] }

    /// A row for each; columns are as wide as these devices need.
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
    /// Whose it is to be, as hex and as npub.
    package var account: String
    package var npub: String
    /// The key that signed it.
    package var key: String
    /// What the registration's `d` says behind the router's key.
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

/// Events, devices and users: by the files, also while a router runs. What a member has in its files is only
/// a part of the truth, so that it is asked as long as it runs.
extension RouterOrFiles {
    /// Throws an ``OperationFailure``, as all of these.
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

    /// Forgets a device: on the files, and while a router runs by its API, which the configuration has to name.
    package func remove(_ device: Int64) async throws -> RemovedDevice {
        do {
            return try OperatorAccess(configuration, for: .changing).operations.remove(device)
        } catch let error as StoreLockError where error.isOfStoreInUse {
            guard configuration.api != nil else {
                throw OperationFailure.unavailable(
                    "a router runs here, and its configuration has no API to ask it by: stop it, or add api:"
                )
            }
            return try await APIClient(configuration: configuration).change("/v1/devices/\(device)", by: "DELETE")
        }
    }

    /// Switches a device on again: by the running router, else on the files.
    package func enable(_ device: Int64) async throws -> EnabledDevice {
        if let answer: EnabledDevice = try await ask("POST", "/v1/devices/\(device)/enable", [:]) {
            return answer
        }
        return try files().operations.enable(device)
    }

    /// Nil where the files are to be read.
    private func member<Answer: OperatorAnswer>(
        _ path: String,
        _ parameters: [String: String] = [:]
    ) async throws -> Answer? {
        guard configuration.hasMembership else { return nil }
        return try await ask("GET", path, parameters)
    }

    private var reading: DeviceOperations {
        get throws { try OperatorAccess(configuration, for: .reading).operations }
    }

    private static func segment(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    }
}

/// A device that an operator took out of the registry.
package struct RemovedDevice: OperatorAnswer, Equatable {
    /// As it was.
    package var removed: DeviceOverview

    package var text: String {
        "removed device \(removed.device), \(removed.platform)/\(removed.app), of \(removed.npub)\n"
            + "Its app registers it again when it sends a newer registration."
    }
}

/// A device that an operator switched on again.
package struct EnabledDevice: OperatorAnswer, Equatable {
    /// As it is now.
    package var device: DeviceOverview
    /// Whether it was off before.
    package var wasOff: Bool

    package var text: String {
        wasOff
            ? "device \(device.device), \(device.platform)/\(device.app), of \(device.npub) is switched on again"
            : "device \(device.device) was not switched off"
    }
}
