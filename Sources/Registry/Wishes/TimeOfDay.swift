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
