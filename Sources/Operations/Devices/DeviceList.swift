import Nostr
import Registry

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
            return "\(error.at.prefix(16))Z \(words)"
        }
        let name = name.isEmpty ? "-" : String(name.prefix(20))
        let success: String? = lastSuccess.map { "\($0.at.prefix(16))Z" }
        let today: String? = pace?.pushesToday.map(String.init)
        let row: [String] = [
            "\(device)", "\(npub.prefix(12))…\(npub.suffix(4))", name, "\(platform)/\(app)", mode ?? "default",
            success ?? "-", error ?? "-", today ?? "-", nextPush,
        ]
        return countsUntil.map { row + ["only until \($0.prefix(16))Z"] } ?? row
    }

    private var nextPush: String {
        if isBlocked == true { return "blocked" }
        if waitsForCode { return "needs a code" }
        if disabledAt != nil { return "switched off" }
        if queuePause != nil { return "paused" }
        guard let pace else { return "-" }
        return pace.nextPushAt.map { "\($0.prefix(16))Z" } ?? pace.reason ?? "at once"
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
