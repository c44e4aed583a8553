/// What stands before the records of `aes128gcm` content (RFC 8188 section 2.1).
package struct AES128GCMHeader: Hashable, Sendable {
    package static let saltByteCount = 16
    /// The smallest record holds a delimiter, one byte and a tag.
    package static let minimumRecordSize = 18

    private static let fixedByteCount = saltByteCount + 4 + 1

    /// 16 bytes, fresh for each message.
    package let salt: [UInt8]
    /// The bytes of each record but the last, which may have fewer; the tag counts.
    package let recordSize: UInt32
    /// Names the key the content is encrypted with; at most 255 bytes.
    package let keyIdentifier: [UInt8]

    /// Throws for another length of the salt, a record size below 18 and an identifier of more than 255 bytes.
    package init(salt: [UInt8], recordSize: UInt32, keyIdentifier: [UInt8]) throws {
        guard salt.count == Self.saltByteCount else {
            throw WebPushEncryptionError.invalidSalt
        }
        guard recordSize >= Self.minimumRecordSize else {
            throw WebPushEncryptionError.invalidRecordSize
        }
        guard keyIdentifier.count <= Int(UInt8.max) else {
            throw WebPushEncryptionError.invalidKeyIdentifier
        }
        self.salt = salt
        self.recordSize = recordSize
        self.keyIdentifier = keyIdentifier
    }

    /// Reads the header that `content` begins with.
    package init(startOf content: [UInt8]) throws {
        guard content.count >= Self.fixedByteCount else {
            throw WebPushEncryptionError.malformedMessage(expected: "a header of at least 21 bytes")
        }
        let sizeEnd = Self.saltByteCount + 4
        let end = Self.fixedByteCount + Int(content[sizeEnd])
        guard content.count >= end else {
            throw WebPushEncryptionError.malformedMessage(expected: "a key identifier as long as its header says")
        }
        let recordSize = content[Self.saltByteCount..<sizeEnd].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        guard recordSize >= Self.minimumRecordSize else {
            throw WebPushEncryptionError.malformedMessage(expected: "a record size of at least 18")
        }
        try self.init(
            salt: Array(content[..<Self.saltByteCount]),
            recordSize: recordSize,
            keyIdentifier: Array(content[Self.fixedByteCount..<end])
        )
    }

    /// How many bytes the header takes.
    package var byteCount: Int {
        Self.fixedByteCount + self.keyIdentifier.count
    }

    /// The header as it goes over the wire.
    package var bytes: [UInt8] {
        let size = (0..<4).map { UInt8(truncatingIfNeeded: self.recordSize >> (24 - 8 * UInt32($0))) }
        let identifierCount = UInt8(truncatingIfNeeded: self.keyIdentifier.count)
        return self.salt + size + [identifierCount] + self.keyIdentifier
    }
}
