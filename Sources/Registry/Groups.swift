import Core
import Foundation
import GRDB
import Nostr

/// A group of an app's users, which senders notify by its name.
package struct GroupName: Hashable, Sendable {
    package static let longest = 64

    package let app: String
    package let group: String

    /// Returns nil if the name is invalid. Valid: 1 to 64 letters, digits, `.`, `_` and `-`.
    package init?(app: String, group: String) {
        guard (1...Self.longest).contains(group.utf8.count), Alphabet.name.spells(group), !app.isEmpty else {
            return nil
        }
        self.app = app
        self.group = group
    }

    fileprivate init(kept row: Row) {
        app = row["app"]
        group = row["name"]
    }
}

/// The result of changing a group.
package struct GroupChange: Hashable, Sendable {
    package var added = 0
    package var removed = 0
    /// Accounts that left on their own. They stay out until they return on their own.
    package var left: [PublicKey] = []
    /// Accounts without a device of the app.
    package var unknown: [PublicKey] = []
    /// Accounts that are already in ``Registry/maxGroups`` groups.
    package var full: [PublicKey] = []
}

/// An account in a group.
package struct GroupMembership: Hashable, Sendable {
    package var name: GroupName
    package var since: Timestamp
}

/// Groups of users. A group exists while accounts are in it or have left it, and still have a device here.
extension Registry {
    /// The maximum number of groups of one account.
    package static let maxGroups = 100

    /// Adds and removes accounts for a sender. Accounts that left on their own are not added.
    package func change(_ name: GroupName, adding: [PublicKey], removing: [PublicKey]) throws -> GroupChange {
        let now = now()
        return try writer.change { rows, _ in
            var change = GroupChange()
            for account in removing where try rows.isMember(account, of: name) {
                try rows.remove(account, from: name)
                change.removed += 1
            }
            for account in adding where try !rows.isMember(account, of: name) {
                if try rows.hasLeft(account, name) {
                    change.left.append(account)
                } else if try !rows.hasDevice(account, app: name.app) {
                    change.unknown.append(account)
                } else if try rows.groups(of: account).count >= Self.maxGroups {
                    change.full.append(account)
                } else {
                    try rows.put(account, into: name, since: now, hasLeft: false)
                    change.added += 1
                }
            }
            return change
        }
    }

    /// Removes an account from a group at its own request, so no sender can add it. Returns false if it is not a
    /// member.
    package func leave(_ name: GroupName, _ account: PublicKey) throws -> Bool {
        let now = now()
        return try writer.change { rows, _ in
            guard try rows.isMember(account, of: name) else { return false }
            try rows.put(account, into: name, since: now, hasLeft: true)
            return true
        }
    }

    /// Adds an account to a group at its own request. Returns false if the group does not exist, the account has no
    /// device of the app, or it has reached the limit of groups.
    package func enter(_ name: GroupName, _ account: PublicKey) throws -> Bool {
        let now = now()
        return try writer.change { rows, _ in
            if try rows.isMember(account, of: name) { return true }
            guard try rows.exists(name), try rows.hasDevice(account, app: name.app),
                try rows.groups(of: account).count < Self.maxGroups
            else { return false }
            try rows.put(account, into: name, since: now, hasLeft: false)
            return true
        }
    }

    /// Returns the groups of an account, ordered by app and name.
    package func groups(of account: PublicKey) throws -> [GroupMembership] {
        try store.read { try $0.groups(of: account) }
    }

    /// Returns the groups of an app, ordered by name, with the number of members of each.
    package func groups(of app: String) throws -> [(name: GroupName, members: Int)] {
        try store.read { rows in
            try rows.all(
                """
                SELECT app, name, count(*) AS members FROM group_members WHERE app = ? AND NOT has_left
                GROUP BY name ORDER BY name
                """,
                [app]
            ).map { (GroupName(kept: $0), $0["members"]) }
        }
    }

    /// Returns members after `previous`, ordered by key.
    package func members(
        of name: GroupName,
        after previous: PublicKey? = nil,
        limit: Int = .max
    ) throws -> [PublicKey] {
        try store.read { rows in
            try rows.all(
                """
                SELECT account FROM group_members WHERE app = ? AND name = ? AND NOT has_left AND account > ?
                ORDER BY account LIMIT ?
                """,
                [name.app, name.group, previous?.bytes.data ?? Data(), limit]
            ).map { try rows.key($0, "account") }
        }
    }
}

extension RegistryRows {
    fileprivate func isMember(_ account: PublicKey, of name: GroupName) throws -> Bool {
        try hasLeft(account, in: name) == false
    }

    fileprivate func hasLeft(_ account: PublicKey, _ name: GroupName) throws -> Bool {
        try hasLeft(account, in: name) == true
    }

    /// Returns true if the account left the group, false if it is a member, and nil if it is neither.
    private func hasLeft(_ account: PublicKey, in name: GroupName) throws -> Bool? {
        try one(
            "SELECT has_left FROM group_members WHERE app = ? AND name = ? AND account = ?",
            [name.app, name.group, account.bytes.data]
        )?[0]
    }

    fileprivate func exists(_ name: GroupName) throws -> Bool {
        try one("SELECT 1 FROM group_members WHERE app = ? AND name = ? LIMIT 1", [name.app, name.group]) != nil
    }

    fileprivate func hasDevice(_ account: PublicKey, app: String) throws -> Bool {
        try one(
            "SELECT 1 FROM devices JOIN routes ON routes.id = route WHERE account = ? AND app = ? LIMIT 1",
            [account.bytes.data, app]
        ) != nil
    }

    fileprivate func put(_ account: PublicKey, into name: GroupName, since: Timestamp, hasLeft: Bool) throws {
        try execute(
            """
            INSERT INTO group_members (app, name, account, since, has_left) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET since = excluded.since, has_left = excluded.has_left
            """,
            [name.app, name.group, account.bytes.data, since, hasLeft]
        )
    }

    fileprivate func remove(_ account: PublicKey, from name: GroupName) throws {
        try execute(
            "DELETE FROM group_members WHERE app = ? AND name = ? AND account = ?",
            [name.app, name.group, account.bytes.data]
        )
    }

    fileprivate func groups(of account: PublicKey) throws -> [GroupMembership] {
        try all(
            "SELECT app, name, since FROM group_members WHERE account = ? AND NOT has_left ORDER BY app, name",
            [account.bytes.data]
        ).map { GroupMembership(name: GroupName(kept: $0), since: $0["since"]) }
    }
}
