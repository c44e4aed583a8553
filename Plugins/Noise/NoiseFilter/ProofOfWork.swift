import PluginKit

/// The work in an event (NIP-13).
enum ProofOfWork {
    /// The leading zero bits of an id of 64 hex digits, as far as the event's nonce tag committed to them: who aims at less and
    /// is lucky has worked for less. 0 for an event without such a tag, and for what is no id.
    static func difficulty(of event: NostrEvent) -> Int {
        let target = event.tags.first { $0.count > 2 && $0[0] == "nonce" }.flatMap { Int($0[2]) }
        guard let target, target > 0, event.id.utf8.count == 64 else { return 0 }
        return min(target, leadingZeroBits(event.id))
    }

    static func leadingZeroBits(_ hex: String) -> Int {
        var bits = 0
        for digit in hex.utf8 {
            switch digit {
            case UInt8(ascii: "0"): bits += 4
            case UInt8(ascii: "1"): return bits + 3
            case UInt8(ascii: "2"), UInt8(ascii: "3"): return bits + 2
            case UInt8(ascii: "4")...UInt8(ascii: "7"): return bits + 1
            default: return bits
            }
        }
        return bits
    }
}
