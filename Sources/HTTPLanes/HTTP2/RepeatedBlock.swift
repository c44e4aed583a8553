/// The last field block of an answer, for the next one is often the same: short and without a byte that would change
/// the decoder's table, as servers send it who know HPACK well. Decoded once, it is only compared afterwards.
struct RepeatedBlock {
    private var encoded: [UInt8] = []
    private var decoded = AnswerBlock(areTrailers: false)
    private var misses = 0

    /// What `block` means, if it is known.
    mutating func fields(of block: UnsafeRawBufferPointer) -> AnswerBlock? {
        let isSame =
            !encoded.isEmpty && encoded.withUnsafeBufferPointer { $0.equals(block.assumingMemoryBound(to: UInt8.self)) }
        misses = isSame ? 0 : misses + 1
        return isSame ? decoded : nil
    }

    /// Remembers a block that was decoded, unless it changed the table.
    mutating func learn(_ block: UnsafeRawBufferPointer, _ fields: AnswerBlock) {
        guard Self.leavesTableAlone(block) else { return forget() }
        // Where answers differ each time, it is tried again now and then.
        guard misses < 4 || misses.isMultiple(of: 64), block.count <= Self.sizeLimit else { return }
        encoded.removeAll(keepingCapacity: true)
        encoded.append(contentsOf: block)
        decoded = fields
    }

    /// The decoder's table may have changed.
    mutating func forget() {
        encoded.removeAll(keepingCapacity: true)
    }

    /// Whether a whole block is only of indexed fields and of literals without indexing (RFC 7541, section 6).
    static func leavesTableAlone(_ block: UnsafeRawBufferPointer) -> Bool {
        var rest = block[...]
        while let first = rest.first {
            switch first {
            case 0x80...:
                guard skipNumber(&rest, prefix: 7) != nil else { return false }
            case 0x20...:
                return false
            default:
                guard let name = skipNumber(&rest, prefix: 4), name > 0 || skipString(&rest), skipString(&rest) else {
                    return false
                }
            }
        }
        return true
    }

    private static func skipString(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        guard let count = skipNumber(&rest, prefix: 7), count <= rest.count else { return false }
        rest = rest.dropFirst(count)
        return true
    }

    private static func skipNumber(_ rest: inout Slice<UnsafeRawBufferPointer>, prefix: Int) -> Int? {
        guard let first = rest.popFirst() else { return nil }
        let limit = 1 << prefix - 1
        var number = Int(first) & limit
        guard number == limit else { return number }
        for shift in [0, 7, 14] {
            guard let byte = rest.popFirst() else { return nil }
            number += Int(byte & 0x7f) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }

    private static let sizeLimit = 256
}
