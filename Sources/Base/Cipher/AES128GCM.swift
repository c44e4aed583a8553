/// The content encoding `aes128gcm` (RFC 8188): a header, and separately authenticated records.
package enum AES128GCM {
    /// The bytes that each record adds to its data: a tag and a delimiter.
    private static let recordOverhead = AESGCM.tagByteCount + 1

    private enum Delimiter: UInt8 {
        case moreFollows = 1
        case last = 2
    }

    /// Encrypts a plaintext of any length.
    ///
    /// `padding` zeros hide its length. The records are padded in order; each has at least one byte of data.
    package static func encrypt(
        _ plaintext: [UInt8],
        inputKeyMaterial: [UInt8],
        header: AES128GCMHeader,
        padding: Int = 0
    ) throws -> [UInt8] {
        let keys = try ContentKeys(inputKeyMaterial: inputKeyMaterial, salt: header.salt)
        let capacity = Int(header.recordSize) - self.recordOverhead
        var content = header.bytes
        var rest = plaintext[...]
        var paddingLeft = max(0, padding)
        var number: UInt64 = 0
        repeat {
            let zeros = min(paddingLeft, rest.isEmpty ? capacity : capacity - 1)
            let data = rest.prefix(capacity - zeros)
            rest = rest.dropFirst(data.count)
            paddingLeft -= zeros
            let delimiter = rest.isEmpty && paddingLeft == 0 ? Delimiter.last : .moreFollows
            content += try AESGCM.seal(
                data + [delimiter.rawValue] + repeatElement(0, count: zeros),
                key: keys.contentEncryptionKey,
                nonce: keys.nonce(ofRecord: number)
            )
            number += 1
            if delimiter == .last {
                return content
            }
        } while true
    }

    /// Decrypts content with the key material that `inputKeyMaterial` returns for its header.
    ///
    /// Throws a ``WebPushEncryptionError`` if a record was changed, removed, added or moved.
    package static func decrypt(
        _ content: [UInt8],
        inputKeyMaterial: (AES128GCMHeader) throws -> [UInt8]
    ) throws -> [UInt8] {
        let header = try AES128GCMHeader(startOf: content)
        let keys = try ContentKeys(inputKeyMaterial: inputKeyMaterial(header), salt: header.salt)
        var plaintext: [UInt8] = []
        var rest = content.dropFirst(header.byteCount)
        var number: UInt64 = 0
        repeat {
            let record = rest.prefix(Int(header.recordSize))
            rest = rest.dropFirst(record.count)
            guard record.count >= self.recordOverhead else {
                throw WebPushEncryptionError.malformedMessage(expected: "records of at least 17 bytes")
            }
            let opened = try self.open(
                Array(record),
                key: keys.contentEncryptionKey,
                nonce: keys.nonce(ofRecord: number)
            )
            plaintext += try self.data(of: opened, delimiter: rest.isEmpty ? .last : .moreFollows)
            number += 1
        } while !rest.isEmpty
        return plaintext
    }

    private static func open(_ record: [UInt8], key: [UInt8], nonce: [UInt8]) throws -> [UInt8] {
        do {
            return try AESGCM.open(record, key: key, nonce: nonce)
        } catch let error as CipherError where error == .authenticationFailed {
            throw WebPushEncryptionError.notAuthentic
        }
    }

    /// Removes the padding. The byte before it must be the delimiter for this position.
    private static func data(of opened: [UInt8], delimiter: Delimiter) throws -> ArraySlice<UInt8> {
        guard let end = opened.lastIndex(where: { $0 != 0 }), opened[end] == delimiter.rawValue else {
            let place = delimiter == .last ? "the last record" : "each record except the last"
            throw WebPushEncryptionError.malformedMessage(expected: "a delimiter of \(delimiter.rawValue) in \(place)")
        }
        return opened[..<end]
    }
}

/// The header of `aes128gcm` content (RFC 8188 section 2.1).
package struct AES128GCMHeader: Hashable, Sendable {
    package static let saltByteCount = 16
    /// The smallest record contains a delimiter, one byte and a tag.
    package static let minimumRecordSize = 18

    private static let fixedByteCount = saltByteCount + 4 + 1

    /// 16 bytes, new for each message.
    package let salt: [UInt8]
    /// The size of each record in bytes, with its tag. The last record may be smaller.
    package let recordSize: UInt32
    /// The identifier of the encryption key, up to 255 bytes.
    package let keyIdentifier: [UInt8]

    /// Throws for a salt that is not 16 bytes long, a record size below 18 and an identifier of more than 255 bytes.
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

    /// Reads the header at the start of `content`.
    package init(startOf content: [UInt8]) throws {
        guard content.count >= Self.fixedByteCount else {
            throw WebPushEncryptionError.malformedMessage(expected: "a header of at least 21 bytes")
        }
        let sizeEnd = Self.saltByteCount + 4
        let end = Self.fixedByteCount + Int(content[sizeEnd])
        guard content.count >= end else {
            throw WebPushEncryptionError.malformedMessage(expected: "a key identifier of the length in its header")
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

    package var byteCount: Int {
        Self.fixedByteCount + self.keyIdentifier.count
    }

    /// The header in wire format.
    package var bytes: [UInt8] {
        let size = (0..<4).map { UInt8(truncatingIfNeeded: self.recordSize >> (24 - 8 * UInt32($0))) }
        let identifierCount = UInt8(truncatingIfNeeded: self.keyIdentifier.count)
        return self.salt + size + [identifierCount] + self.keyIdentifier
    }
}

/// The keys that encrypt the records of one message (RFC 8188 sections 2.2 and 2.3).
package struct ContentKeys: Sendable, Concealed {
    /// 16 bytes.
    package let contentEncryptionKey: [UInt8]
    /// The nonce of the first record, 12 bytes.
    package let nonceBase: [UInt8]

    package init(inputKeyMaterial: [UInt8], salt: [UInt8]) throws {
        let key = HKDFSHA256.extract(salt: salt, inputKeyMaterial: inputKeyMaterial)
        self.contentEncryptionKey = try HKDFSHA256.expand(
            pseudoRandomKey: key,
            info: Array("Content-Encoding: aes128gcm\0".utf8),
            length: 16
        )
        self.nonceBase = try HKDFSHA256.expand(
            pseudoRandomKey: key,
            info: Array("Content-Encoding: nonce\0".utf8),
            length: AESGCM.nonceByteCount
        )
    }

    /// The nonce of a record: the base, whose last 8 bytes are XORed with the record's number (from 0).
    package func nonce(ofRecord number: UInt64) -> [UInt8] {
        let folded = self.nonceBase.suffix(8).enumerated().map { index, byte in
            byte ^ UInt8(truncatingIfNeeded: number >> (56 - 8 * UInt64(index)))
        }
        return self.nonceBase.dropLast(8) + folded
    }
}
