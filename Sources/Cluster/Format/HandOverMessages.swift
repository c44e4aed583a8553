import Delivery

/// Events on their way from the member that read them to the owner of a partition, and its answer.
///
/// A batch: version 1 (1 byte), the sender's incarnation (8 bytes, big-endian), its number (LEB128), a count, and each
/// item as its length and bytes. An answer: version 1, and 1 byte: 0 kept, 1 later.
package struct HandOverBatch: Hashable, Sendable {
    package static let formatVersion: UInt8 = 1

    package struct ID: Hashable, Sendable {
        package var sender: UInt64
        package var number: UInt64

        package init(sender: UInt64, number: UInt64) {
            self.sender = sender
            self.number = number
        }
    }

    package var id: ID
    package var items: [[UInt8]]

    package init(_ id: ID, _ items: [[UInt8]]) {
        self.id = id
        self.items = items
    }

    package var bytes: [UInt8] {
        var writer = BlobWriter(capacity: 24 + items.reduce(0) { $0 + $1.count + 3 })
        writer.write(byte: Self.formatVersion)
        writer.write(fixed: (0..<8).map { UInt8(truncatingIfNeeded: id.sender >> UInt64(56 - 8 * $0)) })
        writer.write(id.number)
        writer.write(items) { $0.write(blob: $1) }
        return writer.bytes
    }

    /// Reads ``bytes``, which may be anything.
    package init(_ bytes: [UInt8]) throws(BlobError) {
        self = try BlobReader.reading(bytes) { reader throws(BlobError) in
            let version = try reader.byte()
            guard version == Self.formatVersion else { throw .unknownVersion(version) }
            let sender = try reader.fixed(8).reduce(0) { $0 << 8 | UInt64($1) }
            let id = ID(sender: sender, number: try reader.integer())
            let batch = HandOverBatch(id, try reader.list { reader throws(BlobError) in try reader.blob() })
            try reader.end()
            return batch
        }
    }
}

/// What an owner says of a batch. One that is no longer the owner says nothing.
package enum HandOverAnswer: UInt8, Hashable, Sendable {
    /// Everything that it leads to is in the partition's log.
    case kept = 0
    /// The owner has no capacity now: ask again.
    case later = 1

    package var bytes: [UInt8] { [HandOverBatch.formatVersion, rawValue] }

    /// Nil: it is no answer.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 2, bytes[0] == HandOverBatch.formatVersion else { return nil }
        self.init(rawValue: bytes[1])
    }
}
