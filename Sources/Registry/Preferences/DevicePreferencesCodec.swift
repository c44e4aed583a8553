/// The binary encoding of ``DevicePreferences`` before it is sealed.
enum DevicePreferencesCodec {
    private static let version: UInt8 = 1
    private static let hasQuietHours: UInt8 = 1
    private static let letsDirectMessagesThrough: UInt8 = 2
    private static let hasWindow: UInt8 = 4
    private static let hasCooldown: UInt8 = 8
    private static let hasDailyCap: UInt8 = 16
    private static let hasZone: UInt8 = 32

    static func encode(_ preferences: DevicePreferences) -> [UInt8] {
        let (quiet, batch) = (preferences.pace.quiet, preferences.pace.batch)
        var flags: UInt8 = 0
        var fields: [UInt8] = []
        if let quiet {
            flags |= hasQuietHours | (quiet.letsDirectMessagesThrough ? letsDirectMessagesThrough : 0)
            for minutes in [quiet.start.minutes, quiet.end.minutes] { append(minutes, count: 2, to: &fields) }
            switch quiet.zone {
            case .offset(let offset): append(offset.minutes, count: 2, to: &fields)
            case .named(let zone):
                flags |= hasZone
                append(zone.name.utf8.count, count: 2, to: &fields)
                fields.append(contentsOf: zone.name.utf8)
            }
        }
        for (flag, number) in [
            (hasWindow, batch.windowSeconds), (hasCooldown, batch.cooldownSeconds), (hasDailyCap, batch.dailyCap),
        ] {
            guard let number else { continue }
            flags |= flag
            append(number, count: 4, to: &fields)
        }
        for (name, isOn) in preferences.filters.byName.sorted(by: { $0.key < $1.key }) {
            // No plugin's filter has such a name, and registrations with one are refused.
            guard name.utf8.count < 128 else { continue }
            fields.append(UInt8(truncatingIfNeeded: name.utf8.count) | (isOn ? 0x80 : 0))
            fields.append(contentsOf: name.utf8)
        }
        return [version, flags] + fields
    }

    /// Returns nil if `bytes` are not encoded preferences.
    static func decode(_ bytes: [UInt8]) -> DevicePreferences? {
        var rest = bytes[...]
        guard let number = rest.popFirst(), let flags = rest.popFirst(),
            number == version
        else { return nil }
        var preferences = DevicePreferences()
        if flags & hasQuietHours != 0 {
            guard let start = integer(&rest, count: 2).flatMap(TimeOfDay.init(minutes:)),
                let end = integer(&rest, count: 2).flatMap(TimeOfDay.init(minutes:)),
                let zone = zone(&rest, isNamed: flags & hasZone != 0)
            else { return nil }
            preferences.pace.quiet = QuietHours(
                start: start,
                end: end,
                zone: zone,
                letsDirectMessagesThrough: flags & letsDirectMessagesThrough != 0
            )
        }
        for (flag, field) in [
            (hasWindow, \BatchPreferences.windowSeconds), (hasCooldown, \.cooldownSeconds), (hasDailyCap, \.dailyCap),
        ] where flags & flag != 0 {
            guard let number = integer(&rest, count: 4) else { return nil }
            preferences.pace.batch[keyPath: field] = number
        }
        while let head = rest.popFirst() {
            let count = Int(head & 0x7F)
            guard rest.count >= count else { return nil }
            preferences.filters.byName[String(decoding: rest.prefix(count), as: UTF8.self)] = head & 0x80 != 0
            rest = rest.dropFirst(count)
        }
        return preferences
    }

    private static func zone(_ rest: inout ArraySlice<UInt8>, isNamed: Bool) -> QuietZone? {
        guard let number = integer(&rest, count: 2) else { return nil }
        guard isNamed else { return UTCOffset(minutes: Int(Int16(truncatingIfNeeded: number))).map { .offset($0) } }
        guard rest.count >= number else { return nil }
        let name = String(decoding: rest.prefix(number), as: UTF8.self)
        rest = rest.dropFirst(number)
        return NamedZone.named(name).map { .named($0) }
    }

    private static func append(_ number: Int, count: Int, to bytes: inout [UInt8]) {
        for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }

    private static func integer(_ bytes: inout ArraySlice<UInt8>, count: Int) -> Int? {
        guard bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count).reversed().reduce(0) { $0 << 8 | Int($1) }
    }
}
