import Cipher

/// The content encoding `aes128gcm` (RFC 8188): a header, and records that authenticate one by one.
package enum AES128GCM {
    /// Each record's tag and the delimiter behind its data.
    private static let recordOverhead = AESGCM.tagByteCount + 1

    private enum Delimiter: UInt8 {
        case moreFollows = 1
        case last = 2
    }

    /// Encrypts a plaintext of any length.
    ///
    /// `padding` zeros hide how long it is: each record takes as many as are left and leave room for a byte of data,
    /// the first record first.
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

    /// Decrypts content with the key material that `inputKeyMaterial` finds for its header.
    ///
    /// Throws a ``WebPushEncryptionError`` when a record was changed, left out, added or put elsewhere.
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

    /// Cuts off the padding, which must end at the delimiter of a record that stands where this one does.
    private static func data(of opened: [UInt8], delimiter: Delimiter) throws -> ArraySlice<UInt8> {
        guard let end = opened.lastIndex(where: { $0 != 0 }), opened[end] == delimiter.rawValue else {
            let place = delimiter == .last ? "the last record" : "each record but the last"
            throw WebPushEncryptionError.malformedMessage(expected: "a delimiter of \(delimiter.rawValue) in \(place)")
        }
        return opened[..<end]
    }
}
