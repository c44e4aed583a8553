import Cipher

/// Opens a Web Push message (RFC 8291) the way a browser or a UnifiedPush connector does.
struct WebPushDecryption {
    private let privateKey: P256PrivateKey
    private let auth: [UInt8]

    init(_ receiver: WebPushReceiver) throws {
        guard let key = try? P256PrivateKey(rawRepresentation: receiver.privateKey), receiver.auth.count == 16 else {
            throw LabError.invalid("A receiver has a private key of 32 bytes on P-256 and an auth of 16 bytes.")
        }
        privateKey = key
        auth = receiver.auth
    }

    /// The clear text of a body with `Content-Encoding: aes128gcm`. Throws `LabError` with what does not hold.
    func open(_ body: [UInt8]) throws -> [UInt8] {
        // RFC 8188, section 2.1: salt (16), record size (4), length of the key id (1), key id.
        guard body.count > 21 else { throw LabError.invalid("the body is shorter than its header") }
        let salt = Array(body[0..<16])
        let recordSize = body[16..<20].reduce(0) { $0 << 8 | Int($1) }
        let keyLength = Int(body[20])
        guard keyLength == 65, body.count > 21 + keyLength else {
            throw LabError.invalid("the key id is not the sender's public key of 65 bytes (RFC 8291, section 4)")
        }
        let senderPoint = Array(body[21..<(21 + keyLength)])
        let record = Array(body[(21 + keyLength)...])
        guard recordSize >= 18, record.count <= recordSize else {
            throw LabError.invalid(
                "a message is one record (RFC 8291, section 4); record size \(recordSize), got \(record.count)"
            )
        }
        guard record.count > AESGCM.tagByteCount, let sender = try? P256PublicKey(x963Representation: senderPoint)
        else {
            throw LabError.invalid("the sender's public key is not on the curve, or the record is too short")
        }
        let (key, nonce) = try keys(sender: sender, salt: salt)
        guard let padded = try? AESGCM.open(record, key: key, nonce: nonce) else {
            throw LabError.invalid("the record does not decrypt with the receiver's keys")
        }
        // RFC 8188, section 2: zeros after the delimiter, which is 2 in the last record.
        guard let end = padded.lastIndex(where: { $0 != 0 }), padded[end] == 2 else {
            throw LabError.invalid("the record does not end with the delimiter 2 and zeros")
        }
        return Array(padded[..<end])
    }

    private func keys(sender: P256PublicKey, salt: [UInt8]) throws -> (key: [UInt8], nonce: [UInt8]) {
        let secret = try privateKey.sharedSecret(with: sender)
        // RFC 8291, section 3.4.
        let authenticated = HKDFSHA256.extract(salt: auth, inputKeyMaterial: secret)
        let keyInfo =
            Array("WebPush: info\0".utf8) + privateKey.publicKey.x963Representation + sender.x963Representation
        let material = try HKDFSHA256.expand(pseudoRandomKey: authenticated, info: keyInfo, length: 32)
        let pseudoRandomKey = HKDFSHA256.extract(salt: salt, inputKeyMaterial: material)
        return (
            try HKDFSHA256.expand(
                pseudoRandomKey: pseudoRandomKey,
                info: Array("Content-Encoding: aes128gcm\0".utf8),
                length: 16
            ),
            try HKDFSHA256.expand(
                pseudoRandomKey: pseudoRandomKey,
                info: Array("Content-Encoding: nonce\0".utf8),
                length: 12
            )
        )
    }
}
