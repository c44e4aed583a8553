import Delivery

/// A batch of events that a member read and sends to the owner of a partition.
///
/// A batch: version 1 (1 byte), the sender's incarnation (8 bytes, big-endian), its number (LEB128), a count, and each
/// item as its length and bytes. A response: version 1, and 1 byte: 0 kept, 1 later. If the owner has notes about
/// items, a count follows, and each note as the item's index in the batch, its length and bytes.
struct HandOverBatch: Hashable, Sendable {
    static let formatVersion: UInt8 = 1

    struct ID: Hashable, Sendable {
        var sender: UInt64
        var number: UInt64
    }

    var id: ID
    var items: [[UInt8]]

    init(_ id: ID, _ items: [[UInt8]]) {
        self.id = id
        self.items = items
    }

    var bytes: [UInt8] {
        var writer = BlobWriter(capacity: 24 + items.reduce(0) { $0 + $1.count + 3 })
        writer.write(byte: Self.formatVersion)
        writer.write(fixed: (0..<8).map { UInt8(truncatingIfNeeded: id.sender >> UInt64(56 - 8 * $0)) })
        writer.write(id.number)
        writer.write(items) { $0.write(blob: $1) }
        return writer.bytes
    }

    /// Decodes ``bytes``; the input is untrusted.
    init(_ bytes: [UInt8]) throws(BlobError) {
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

/// An owner's response to a batch. A member that is no longer the owner sends no response.
enum HandOverAnswer: UInt8, Hashable, Sendable {
    /// All results of the batch are in the partition's log.
    case kept = 0
    /// The owner has no capacity now: the sender must retry.
    case later = 1

    func bytes(with notes: HandOverNotes = [:]) -> [UInt8] {
        var bytes = [HandOverBatch.formatVersion, rawValue]
        guard !notes.isEmpty else { return bytes }
        var writer = BlobWriter(capacity: notes.reduce(8) { $0 + $1.value.count + 8 })
        writer.write(notes.sorted { $0.key < $1.key }) { writer, note in
            writer.write(UInt64(note.key))
            writer.write(blob: note.value)
        }
        bytes += writer.bytes
        return bytes
    }

    /// Decodes a response and its notes from untrusted bytes; nil if they are not valid.
    static func read(_ bytes: [UInt8]) -> (answer: HandOverAnswer, notes: HandOverNotes)? {
        guard bytes.count >= 2, bytes[0] == HandOverBatch.formatVersion, let answer = HandOverAnswer(rawValue: bytes[1])
        else { return nil }
        guard bytes.count > 2 else { return (answer, [:]) }
        let notes = try? BlobReader.reading(Array(bytes.dropFirst(2))) { reader throws(BlobError) in
            let notes = try reader.list { reader throws(BlobError) in
                (Int(truncatingIfNeeded: try reader.integer()), try reader.blob())
            }
            try reader.end()
            return notes
        }
        return notes.map { (answer, HandOverNotes($0) { first, _ in first }) }
    }
}

/// An owner's notes about items of a batch, by position in it. Only the sender interprets them.
typealias HandOverNotes = [Int: [UInt8]]
