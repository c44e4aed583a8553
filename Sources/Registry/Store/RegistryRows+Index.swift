import Foundation
import GRDB
import Nostr
import Push
import Storage

extension RegistryRows {
    func deviceCount() throws -> Int {
        try one("SELECT count(*) FROM devices")?[0] ?? 0
    }

    /// Adds every device to an empty index, except those for whose author and account `isBlocked` returns true.
    func fill(
        _ index: inout MatchIndex,
        without isBlocked: (_ author: PublicKey, _ account: PublicKey) -> Bool,
        opening preferences: (DeviceID, Data) throws -> DevicePreferences
    ) throws {
        for (id, route) in try routes() { index.name(route, id) }
        let outOfUse = try devicesOutOfUse()
        // Avoids GRDB's rows and values, because there may be a million devices.
        let rows = try RawStatement(
            db,
            """
            SELECT id, account, first_registered_at, route, mode, signals, further_signals, has_sealing_key, locale, wishes,
                author
            FROM devices ORDER BY id
            """
        )
        defer { rows.reset() }
        var languages: [String: LanguageID] = [:]
        while try rows.step() {
            let device = DeviceID(rawValue: rows.integer(at: 0))
            if !outOfUse.isEmpty, outOfUse.contains(device) { continue }
            let account = try Self.bytes(rows.bytes(at: 1))
            if isBlocked(PublicKey(try Self.bytes(rows.bytes(at: 10))), PublicKey(account)) { continue }
            var signals = SignalSet(rawValue: UInt64(bitPattern: rows.integer(at: 5)))
            if !rows.isNull(at: 6) { signals.formUnion(index.signals.set(of: Self.signals(rows.text(at: 6)))) }
            let entry = DeviceEntry(
                device: device,
                firstRegisteredAt: rows.timestamp(at: 2),
                signals: signals,
                route: RouteID(rawValue: UInt16(truncatingIfNeeded: rows.integer(at: 3))),
                mode: rows.isNull(at: 4) ? nil : Mode(rawValue: Int32(truncatingIfNeeded: rows.integer(at: 4))),
                language: index.languages.isEmpty || rows.isNull(at: 8)
                    ? .none : Self.language(rows.text(at: 8), index.languages, &languages),
                hasSealingKey: rows.integer(at: 7) != 0
            )
            index.add(entry, to: account)
            if !rows.isNull(at: 9) { index.note(try preferences(device, Data(rows.bytes(at: 9))), of: device) }
        }
    }

    /// The devices that want signals in addition to the well-known ones.
    func furtherSignals() throws -> [(DeviceID, PublicKey, [Signal])] {
        try all("SELECT id, account, further_signals FROM devices WHERE further_signals IS NOT NULL").map { row in
            (DeviceID(rawValue: row[0]), try key(row, "account"), Self.signals(row[2]))
        }
    }

    /// The devices that registered a language.
    func locales() throws -> [(DeviceID, PublicKey, LanguageTag)] {
        try all("SELECT id, account, locale FROM devices WHERE locale IS NOT NULL").compactMap { row in
            guard let locale = LanguageTag(row[2] as String) else { return nil }
            return (DeviceID(rawValue: row[0]), try key(row, "account"), locale)
        }
    }

    /// Returns the number of a language, cached because most devices have one of a few languages.
    private static func language(
        _ column: String,
        _ names: LanguageNames,
        _ known: inout [String: LanguageID]
    ) -> LanguageID {
        if let language = known[column] { return language }
        let language = names.best(for: LanguageTag(column))
        known[column] = language
        return language
    }

    static func signals(_ column: String) -> [Signal] {
        column.split(separator: " ").map { Signal(rawValue: String($0)) }
    }
}
