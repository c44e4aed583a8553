import CSecp256k1

/// Public keys that were parsed lately, for one thread: reading one takes a tenth of a verification, as its point has
/// to be found on the curve, and authors come again.
///
/// Each key has one place, by its bytes, so a stranger who chooses keys can only push others out of it.
package final class ParsedKeys {
    private struct Slot {
        var words: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        var parsed = secp256k1_xonly_pubkey()
        var isFilled = false
    }

    private var slots: [Slot]

    /// With 1,024 it takes a tenth of a megabyte.
    package init(count: Int = 1024) {
        slots = [Slot](repeating: Slot(), count: max(1, count))
    }

    /// Calls `body` with the key that these 32 bytes stand for; nil where they are no key.
    func withKey<Result>(
        _ bytes: UnsafeRawBufferPointer,
        _ body: (UnsafePointer<secp256k1_xonly_pubkey>) -> Result
    ) -> Result? {
        let words = bytes.loadUnaligned(as: (UInt64, UInt64, UInt64, UInt64).self)
        let place = Int(words.3 % UInt64(slots.count))
        return slots.withUnsafeMutableBufferPointer { slots in
            if !slots[place].isFilled || slots[place].words != words {
                guard let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress,
                    secp256k1_xonly_pubkey_parse(context, &slots[place].parsed, start) == 1
                else {
                    // What failed may have left half a key.
                    slots[place].isFilled = false
                    return nil
                }
                slots[place].words = words
                slots[place].isFilled = true
            }
            return withUnsafePointer(to: slots[place].parsed, body)
        }
    }
}
