import Core
import JSON
import Nostr

/// Daily hours in which a device receives no alerts (contrib/docs/pacing.md). An end before the start is on the next
/// day.
package struct QuietHours: Hashable, Sendable {
    package var start: TimeOfDay
    /// The first minute after the quiet time; never the same as `start`.
    package var end: TimeOfDay
    package var zone: QuietZone
    /// Whether direct messages come through.
    package var letsDirectMessagesThrough: Bool

    package init(start: TimeOfDay, end: TimeOfDay, zone: QuietZone, letsDirectMessagesThrough: Bool = false) {
        self.start = start
        self.end = end
        self.zone = zone
        self.letsDirectMessagesThrough = letsDirectMessagesThrough
    }

    package init(start: TimeOfDay, end: TimeOfDay, offset: UTCOffset, letsDirectMessagesThrough: Bool = false) {
        self.init(start: start, end: end, zone: .offset(offset), letsDirectMessagesThrough: letsDirectMessagesThrough)
    }
}

extension QuietHours {
    /// Reads the `quiet` object of a registration; nil if there is none.
    init?(_ registration: FieldReader) throws(RegistrationError) {
        guard let reader = try registration.reader("quiet") else { return nil }
        let start = try Self.time("start", reader)
        let end = try Self.time("end", reader)
        guard start != end else { throw reader.refusal("end", expected: "another time than `quiet.start`") }
        guard case .string(let text) = reader.object["tz"], let zone = QuietZone(text) else {
            throw reader.refusal("tz", expected: QuietZone.expected)
        }
        self.init(
            start: start,
            end: end,
            zone: zone,
            letsDirectMessagesThrough: try reader.bool("dm_bypass_quiet") ?? false
        )
    }

    private static func time(_ name: String, _ reader: FieldReader) throws(RegistrationError) -> TimeOfDay {
        guard case .string(let text) = reader.object[name], let time = TimeOfDay(text) else {
            throw reader.refusal(name, expected: "a time from 00:00 to 23:59")
        }
        return time
    }
}

/// The time zone of quiet hours.
package enum QuietZone: Hashable, Sendable {
    /// A fixed offset from UTC. It reveals less about its owner's location than a zone's name.
    case offset(UTCOffset)
    case named(NamedZone)

    /// The expected `tz` of a registration, for error messages.
    static let expected =
        "an offset from UTC such as UTC+9, UTC-03:30, +05:45 or Z, or a time zone of the tz database such as Europe/Berlin"

    /// Reads an offset, or a name, whether or not that zone is known.
    init?(_ text: String) {
        if let offset = UTCOffset(text) {
            self = .offset(offset)
        } else if let zone = NamedZone.named(text) {
            self = .named(zone)
        } else {
            return nil
        }
    }

    /// How far the clock is ahead of UTC, in minutes.
    package func minutesAhead(at moment: Timestamp) -> Int {
        switch self {
        case .offset(let offset): offset.minutes
        case .named(let zone): zone.minutesAhead(at: moment)
        }
    }
}

/// A time on a 24-hour wall clock, to the minute.
package struct TimeOfDay: Hashable, Sendable {
    private let stored: Int16

    /// Since midnight, from 0 to 1439.
    package var minutes: Int { Int(stored) }

    package init?(minutes: Int) {
        guard (0..<1440).contains(minutes) else { return nil }
        stored = Int16(truncatingIfNeeded: minutes)
    }

    /// Reads `00:00` to `23:59`.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        var digits: [Int] = []
        for index in [0, 1, 3, 4] {
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[index]) else { return nil }
            digits.append(Int(bytes[index]) - 0x30)
        }
        let hour = digits[0] * 10 + digits[1]
        let minute = digits[2] * 10 + digits[3]
        guard hour < 24, minute < 60 else { return nil }
        self.init(minutes: hour * 60 + minute)
    }
}

/// The offset of a wall clock from UTC. In a registration it reveals less about its owner's location than the name of a
/// zone.
package struct UTCOffset: Hashable, Sendable {
    private let stored: Int16

    /// From -720 to 840.
    package var minutes: Int { Int(stored) }

    package init?(minutes: Int) {
        guard (-720...840).contains(minutes) else { return nil }
        stored = Int16(truncatingIfNeeded: minutes)
    }

    /// Reads `Z`, `UTC`, `UTC+9`, `UTC-03:30`, `+05:45`.
    package init?(_ text: String) {
        if text == "Z" || text == "UTC" {
            self.init(minutes: 0)
            return
        }
        var rest = text.hasPrefix("UTC") ? text.dropFirst(3) : Substring(text)
        let sign: Int
        switch rest.popFirst() {
        case "+": sign = 1
        case "-": sign = -1
        default: return nil
        }
        let parts = rest.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 2, let first = parts.first, (1...2).contains(first.utf8.count), let hours = decimal(first)
        else { return nil }
        var past = 0
        if parts.count == 2 {
            guard parts[1].utf8.count == 2, let value = decimal(parts[1]), value < 60 else { return nil }
            past = value
        }
        self.init(minutes: sign * (hours * 60 + past))
    }
}

/// `Int.init` would also accept a sign.
private func decimal(_ digits: Substring) -> Int? {
    digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(digits) : nil
}
