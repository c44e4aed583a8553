/// How far a wall clock is ahead of UTC. A registration names the offset and not the zone, which says less about where
/// its owner is (seed 004 section 4).
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
        else {
            return nil
        }
        var past = 0
        if parts.count == 2 {
            guard parts[1].utf8.count == 2, let value = decimal(parts[1]), value < 60 else { return nil }
            past = value
        }
        self.init(minutes: sign * (hours * 60 + past))
    }
}

/// `Int.init` alone would also take a sign.
private func decimal(_ digits: Substring) -> Int? {
    digits.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(digits) : nil
}
