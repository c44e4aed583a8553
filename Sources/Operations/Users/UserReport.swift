import Nostr
import Notifications
import Registry
import Units

/// An account with its devices in sum.
package struct UserReport: Codable, Sendable, Equatable {
    package var account: String
    package var npub: String
    package var devices: Int
    /// As `platform/app`, sorted.
    package var platforms: [String]
    package var firstRegistered: String?
    package var lastRegistered: String?
    /// The last push that a push service accepted; nil: none that is remembered.
    package var lastPush: String?
    package var isBlocked: Bool

    init(_ user: UserListing, lastPush: Timestamp?, isBlocked: Bool) {
        account = user.account.hex
        npub = NIP19.npub(user.account)
        devices = user.devices.count
        platforms = user.routes.map { "\($0.platform)/\($0.app)" }.sorted()
        firstRegistered = user.firstRegisteredAt.map { UTCTime($0).stamp }
        lastRegistered = user.lastRegisteredAt.map { UTCTime($0).stamp }
        self.lastPush = lastPush.map { UTCTime($0).stamp }
        self.isBlocked = isBlocked
    }

    fileprivate var row: [String] {
        [
            npub, "\(devices)", platforms.isEmpty ? "-" : platforms.joined(separator: ","), Self.day(firstRegistered),
            Self.minute(lastRegistered), Self.minute(lastPush), isBlocked ? "blocked" : "",
        ]
    }

    private static func day(_ stamp: String?) -> String { stamp.map { String($0.prefix(10)) } ?? "-" }

    static func minute(_ stamp: String?) -> String { stamp.map { "\($0.prefix(16))Z" } ?? "-" }
}

/// Accounts in the order of their keys, as far as one answer goes.
package struct UserList: OperatorAnswer, Equatable {
    package var users: [UserReport]
    /// Behind which key the next answer begins; nil: there are no more.
    package var next: String?

    package init(users: [UserReport], next: String?) {
        self.users = users
        self.next = next
    }

    package var text: String { users.isEmpty ? "no users" : table(withHead: true) }

    package func table(withHead: Bool) -> String {
        let head = ["ACCOUNT", "DEVICES", "PLATFORMS", "FIRST", "LAST REGISTERED", "LAST PUSH", ""]
        return TextTable.lines((withHead ? [head] : []) + users.map(\.row)).joined(separator: "\n")
    }
}

/// What is known of one account. No tokens.
package struct UserOverview: OperatorAnswer, Equatable {
    package var user: UserReport
    package var devices: [DeviceOverview]
    /// At which something is watched for it.
    package var relays: [String]
    package var rules: [AccessRuleReport]
    /// How many devices it may have.
    package var deviceLimit: Int
    /// How many registrations one key may sign an hour.
    package var registrationsPerHour: Int
    /// Who was asked; nil: the router serves alone.
    package var members: MembersAsked?

    package var text: String {
        var lines = [
            "account     \(user.npub)", "            \(user.account)",
            "devices     \(user.devices) of at most \(deviceLimit)",
            "registered  first \(UserReport.minute(user.firstRegistered)), last \(UserReport.minute(user.lastRegistered)); "
                + "at most \(registrationsPerHour) times an hour",
            "last push   \(UserReport.minute(user.lastPush))",
            "state       \(user.isBlocked ? "blocked: it is sent nothing and cannot register" : "in use")",
        ]
        lines += rules.map { "rule        \($0.text)" }
        lines += relays.isEmpty ? ["relays      none"] : relays.map { "relay       \($0)" }
        if !devices.isEmpty { lines += ["", DeviceList(devices: devices).table(withHead: true)] }
        if let members { lines += members.lines }
        return lines.joined(separator: "\n")
    }
}
