import Foundation
import GRDB
import Nostr
import Notifications

extension RegistryRows {
    func deviceCount() throws -> Int {
        try one("SELECT count(*) FROM devices")?[0] ?? 0
    }

    /// Adds every device to an empty index but those that `isBlocked` says of their author and account.
    func fill(
        _ index: inout MatchIndex,
        without isBlocked: (_ author: PublicKey, _ account: PublicKey) -> Bool,
        opening preferences: (DeviceID, Data) throws -> DevicePreferences
    ) throws {
        for (id, route) in try routes() { index.name(route, id) }
        let outOfUse = try devicesOutOfUse()
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT id, account, first_registered_at, route, mode, signals, further_signals, has_sealing_key, locale,
                    wishes, author
                FROM devices ORDER BY id
                """
        )
        var languages: [String: LanguageID] = [:]
        while let row = try rows.next() {
            if !outOfUse.isEmpty, outOfUse.contains(DeviceID(rawValue: row[0])) { continue }
            let account = try bytes(row, at: 1)
            if isBlocked(PublicKey(try bytes(row, at: 10)), PublicKey(account)) { continue }
            let mode: Int32? = row[4]
            var signals = SignalSet(rawValue: UInt64(bitPattern: row[5] as Int64))
            if let further: String = row[6] { signals.formUnion(index.signals.set(of: Self.signals(further))) }
            let entry = DeviceEntry(
                device: DeviceID(rawValue: row[0]),
                firstRegisteredAt: row[2],
                signals: signals,
                route: RouteID(rawValue: UInt16(truncatingIfNeeded: row[3] as Int64)),
                mode: mode.flatMap(Mode.init(rawValue:)),
                language: index.languages.isEmpty ? .none : Self.language(row[8], index.languages, &languages),
                hasSealingKey: row[7]
            )
            index.add(entry, to: account)
            if let sealed: Data = row[9] { index.note(try preferences(entry.device, sealed), of: entry.device) }
        }
    }

    /// The devices that want more than the well-known signals.
    func furtherSignals() throws -> [(DeviceID, PublicKey, [Signal])] {
        try all("SELECT id, account, further_signals FROM devices WHERE further_signals IS NOT NULL").map { row in
            (DeviceID(rawValue: row[0]), try key(row, "account"), Self.signals(row[2]))
        }
    }

    /// The devices that read a language.
    func locales() throws -> [(DeviceID, PublicKey, LanguageTag)] {
        try all("SELECT id, account, locale FROM devices WHERE locale IS NOT NULL").compactMap { row in
            guard let locale = LanguageTag(row[2] as String) else { return nil }
            return (DeviceID(rawValue: row[0]), try key(row, "account"), locale)
        }
    }

    /// Most devices read one of a few languages.
    private static func language(
        _ column: String?,
        _ names: LanguageNames,
        _ known: inout [String: LanguageID]
    ) -> LanguageID {
        guard let column else { return .none }
        if let language = known[column] { return language }
        let language = names.best(for: LanguageTag(column))
        known[column] = language
        return language
    }

    static func signals(_ column: String) -> [Signal] {
        column.split(separator: " ").map { Signal(rawValue: String($0)) }
    }
}
