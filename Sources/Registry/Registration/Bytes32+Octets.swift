import Foundation
import Nostr

extension Bytes32 {
    /// The bytes at `source`, which must be 32. For the million rows of a start.
    init(loading source: UnsafeRawBufferPointer) {
        precondition(source.count == 32, "a key or an id has 32 bytes")
        self.init(
            words: (
                source.loadUnaligned(as: UInt64.self),
                source.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
                source.loadUnaligned(fromByteOffset: 16, as: UInt64.self),
                source.loadUnaligned(fromByteOffset: 24, as: UInt64.self)
            )
        )
    }

    /// As SQLite takes them.
    var data: Data { withUnsafeBytes { Data($0) } }
}
