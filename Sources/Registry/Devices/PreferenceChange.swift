import Core
import Foundation
import GRDB
import JSON
import Nostr
import Push

/// A JSON merge patch (RFC 7396) for the preferences in a registration, in the registration's own form: members replace
/// members, and null removes one.
package struct PreferenceChange: Sendable {
    /// The members that may change. The device's address and its signing keys require a registration.
    package static let members = [
        "batch", "device", "filter_plugins", "filters", "locale", "mode", "quiet", "signals",
    ]

    private let patch: JSONObject

    /// Throws a ``RegistrationError`` if the patch has any other member.
    package init(_ patch: JSONObject) throws(RegistrationError) {
        if let other = patch.members.first(where: { !Self.members.contains($0.name) }) {
            throw .invalid("\(other.name.prefix(40)): expected \(Self.members.joined(separator: ", "))")
        }
        self.patch = patch
    }

    /// The content of a registration with these changes.
    func apply(to json: String) throws(RegistrationError) -> String {
        guard let value = try? JSONValue(parsing: json), case .object(let object) = value else {
            throw .invalid("the stored registration is not readable; register again")
        }
        var text = JSONText()
        Self.append(.object(Self.merged(object, patch)), to: &text)
        return String(decoding: text.bytes, as: UTF8.self)
    }

    private static func merged(_ object: JSONObject, _ patch: JSONObject) -> JSONObject {
        var result = object
        for member in patch.members {
            let index = result.members.firstIndex { $0.name == member.name }
            if member.value == .null {
                if let index { result.members.remove(at: index) }
                continue
            }
            var value = member.value
            if case .object(let inner) = value {
                // Missing objects are merged too, so no null remains in the result.
                var former = JSONObject(members: [])
                if let index, case .object(let there) = result.members[index].value { former = there }
                value = .object(merged(former, inner))
            }
            if let index {
                result.members[index].value = value
            } else {
                result.members.append(JSONObject.Member(name: member.name, value: value))
            }
        }
        return result
    }

    private static func append(_ value: JSONValue, to text: inout JSONText) {
        switch value {
        case .null: text.append("null")
        case .bool(let flag): text.append(flag ? "true" : "false")
        case .number(let digits): text.bytes += Array(digits.utf8)
        case .string(let string): text.appendQuoted(string)
        case .array(let elements): text.appendArray(elements) { append($1, to: &$0) }
        case .object(let object):
            text.append("{")
            for (index, member) in object.members.enumerated() {
                if index > 0 { text.append(",") }
                text.appendQuoted(member.name)
                text.append(":")
                append(member.value, to: &text)
            }
            text.append("}")
        }
    }
}

/// Changes device preferences without a registration. The next registration of the device replaces them.
struct PreferenceEditor: Sendable {
    let vault: TokenVault
    let platforms: CurrentPlatforms
    let access: AccessControl
    let secrets: DeviceSecrets
    let checkSignal: SignalCheck

    /// Returns false if the account has no such device. Throws a ``RegistrationError`` for values that no registration
    /// may contain.
    func apply(
        _ change: PreferenceChange,
        to device: DeviceID,
        of account: PublicKey,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws -> Bool {
        guard let registered = try rows.device(device), registered.account == account,
            let sealed = try rows.sealedContent(of: device)
        else { return false }
        let former = String(decoding: try vault.open(sealed, of: device, for: .content), as: UTF8.self)
        let content = try RegistrationContent(
            json: change.apply(to: former),
            platforms: platforms.catalog,
            checkingSignals: checkSignal
        )
        if case .named(let zone) = content.quiet?.zone, !zone.isKnown {
            throw RegistrationError.invalid("registration field `quiet.tz`: expected \(QuietZone.expected)")
        }
        try rows.putChoices(content, of: device)
        try rows.putContent(vault.seal(Array(content.json.utf8), of: device, for: .content), of: device)
        try rows.putPreferences(of: device, sealed: try vault.seal(content.preferences, of: device))
        // A device out of use is not in the index. It enters the index with its preferences at that time.
        guard !access.list.isBlocked(registered.slot.author, for: account), try !rows.isOutOfUse(device) else {
            return true
        }
        let all = try rows.indexedDevices(ofOrBy: account) { try secrets.open(preferences: $0, of: $1) }
        if let indexed = all.first(where: { $0.device.device == device }) {
            changes.index.append(.put(indexed.device))
        }
        return true
    }
}

extension RegistryRows {
    /// Stores the members of a registration that the match index reads.
    fileprivate func putChoices(_ content: RegistrationContent, of device: DeviceID) throws {
        let known = SignalNames()
        let further = content.signals.filter { known[$0].isEmpty }.map(\.rawValue).sorted()
        try execute(
            "UPDATE devices SET mode = ?, signals = ?, further_signals = ?, locale = ? WHERE id = ?",
            [
                content.mode?.rawValue, Int64(bitPattern: known.set(of: content.signals).rawValue),
                further.isEmpty ? nil : further.joined(separator: " "), content.language?.description, device.rawValue,
            ]
        )
    }

    fileprivate func putContent(_ sealed: [UInt8], of device: DeviceID) throws {
        try execute("UPDATE secrets SET content = ? WHERE device = ?", [Data(sealed), device.rawValue])
    }
}
