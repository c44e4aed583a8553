import Cipher
import Core
import Foundation
import GRDB
import Nostr
import Push

extension RegistryRows {
    /// Returns the rules that commands made, oldest first.
    func accessRules() throws -> [AccessRule] {
        try all("SELECT kind, subject, is_block, reason, made_at, until FROM access_rules ORDER BY made_at, subject")
            .map { row in
                guard let kind = AccessSubject.Kind(rawValue: row[0]), let subject = AccessSubject(kind, row[1]) else {
                    throw DatabaseError(resultCode: .SQLITE_CORRUPT)
                }
                return AccessRule(subject, isBlock: row[2], reason: row[3], madeAt: row[4], until: row[5])
            }
    }

    func put(_ rule: AccessRule) throws {
        try execute(
            """
            INSERT OR REPLACE INTO access_rules (kind, subject, is_block, reason, made_at, until)
            VALUES (?, ?, ?, ?, ?, ?)
            """,
            [rule.subject.kind.rawValue, rule.subject.text, rule.isBlock, rule.reason, rule.madeAt, rule.until]
        )
    }

    func removeRule(about subject: AccessSubject) throws {
        try execute(
            "DELETE FROM access_rules WHERE kind = ? AND subject = ?",
            [subject.kind.rawValue, subject.text]
        )
    }

    func removeRules(endedBy now: Timestamp) throws {
        try execute("DELETE FROM access_rules WHERE until <= ?", [now])
    }

    /// Returns the client that used the invitation with that digest, in hex digits; nil if no client did.
    func invitee(of digest: String) throws -> PublicKey? {
        guard let bytes = Hex.decode(digest) else { return nil }
        return try one("SELECT client FROM used_secrets WHERE digest = ?", [Data(bytes)]).flatMap { row in
            PublicKey(bytes: row[0] as Data)
        }
    }

    /// Returns the devices of an account, and those that this key registered for other accounts, as index entries with
    /// the key that registered each.
    func indexedDevices(
        ofOrBy key: PublicKey,
        opening preferences: ([UInt8], DeviceID) throws -> DevicePreferences
    ) throws -> [(device: IndexedDevice, author: PublicKey)] {
        try all(
            """
            SELECT devices.id, account, first_registered_at, route, mode, signals, further_signals, has_sealing_key,
                locale, wishes, platform, app, author
            FROM devices JOIN routes ON routes.id = route
            WHERE account = ?1 OR author = ?1 ORDER BY devices.id
            """,
            [key.bytes.data]
        ).map { row in
            let id = DeviceID(rawValue: row[0])
            let (mode, sealed): (Int32?, Data?) = (row[4], row[9])
            let device = IndexedDevice(
                account: PublicKey(try bytes(row, at: 1)),
                device: id,
                firstRegisteredAt: row[2],
                signals: SignalSet(rawValue: UInt64(bitPattern: row[5] as Int64)),
                furtherSignals: Self.signals(row[6] as String? ?? ""),
                mode: mode.flatMap(Mode.init(rawValue:)),
                locale: (row[8] as String?).flatMap { LanguageTag($0) },
                hasSealingKey: row[7],
                route: Route(platform: row[10], app: row[11]),
                routeID: RouteID(rawValue: UInt16(truncatingIfNeeded: row[3] as Int64)),
                preferences: try sealed.map { try preferences(Array($0), id) } ?? DevicePreferences()
            )
            return (device, PublicKey(try bytes(row, at: 12)))
        }
    }
}
