import Cipher
import Testing

@Suite struct WebPushEncryptionTests {
    let vector: WebPushVectors.RFC8291

    init() throws {
        self.vector = try WebPushVectors.rfc8291()
    }

    private func privateKey(_ text: String) throws -> P256PrivateKey {
        try P256PrivateKey(rawRepresentation: WebPushVectors.bytes(text))
    }

    private func decrypt(_ body: [UInt8]) throws -> [UInt8] {
        try WebPushEncryption.decrypt(
            body,
            privateKey: self.privateKey(self.vector.ua_private),
            authenticationSecret: WebPushVectors.bytes(self.vector.auth_secret)
        )
    }

    @Test func theExampleOfRFC8291() throws {
        let salt = try WebPushVectors.bytes(self.vector.salt)
        let body = try WebPushEncryption.encrypt(
            WebPushVectors.bytes(self.vector.plaintext),
            p256dh: self.vector.ua_public,
            auth: self.vector.auth_secret,
            ephemeral: self.privateKey(self.vector.as_private),
            random: { _ in salt }
        )
        #expect(Base64URL.encode(body) == self.vector.body)
        #expect(Base64URL.encode(try self.decrypt(body)) == self.vector.plaintext)
    }

    @Test func paddedMessageHidesItsLength() throws {
        let keys = try WebPushKeys(p256dh: self.vector.ua_public, auth: self.vector.auth_secret)
        for length in [0, 1, 100, 199, 200] {
            let plaintext = [UInt8](repeating: 0, count: length)
            let body = try WebPushEncryption.encrypt(plaintext, paddedTo: 200, to: keys)
            #expect(body.count == 200 + WebPushEncryption.overheadByteCount)
            #expect(try self.decrypt(body) == plaintext)
        }
        for (length, size) in [(201, 200), (1, 3994)] {
            #expect(throws: WebPushEncryptionError.plaintextTooLong(limit: min(size, 3993))) {
                try WebPushEncryption.encrypt([UInt8](repeating: 0, count: length), paddedTo: size, to: keys)
            }
        }
    }

    @Test func theIntermediateValuesOfRFC8291() throws {
        let sender = try self.privateKey(self.vector.as_private)
        let receiver = try self.privateKey(self.vector.ua_private)
        #expect(Base64URL.encode(sender.publicKey.x963Representation) == self.vector.as_public)
        #expect(Base64URL.encode(receiver.publicKey.x963Representation) == self.vector.ua_public)
        let shared = try sender.sharedSecret(with: receiver.publicKey)
        #expect(Base64URL.encode(shared) == self.vector.ecdh_secret)
        let material = MessageKeyMaterial(
            sharedSecret: shared,
            authenticationSecret: try WebPushVectors.bytes(self.vector.auth_secret),
            receiver: receiver.publicKey.x963Representation,
            sender: sender.publicKey.x963Representation
        )
        #expect(Base64URL.encode(material.pseudoRandomKey) == self.vector.PRK_key)
        #expect(Base64URL.encode(material.keyInfo) == self.vector.key_info)
        #expect(Base64URL.encode(material.inputKeyMaterial) == self.vector.IKM)
        let keys = try ContentKeys(
            inputKeyMaterial: material.inputKeyMaterial,
            salt: WebPushVectors.bytes(self.vector.salt)
        )
        #expect(Base64URL.encode(keys.contentEncryptionKey) == self.vector.CEK)
        #expect(Base64URL.encode(keys.nonceBase) == self.vector.NONCE)
        let header = try AES128GCMHeader(startOf: WebPushVectors.bytes(self.vector.body))
        #expect(Base64URL.encode(header.bytes) == self.vector.header)
        #expect(header.recordSize == self.vector.rs)
    }

    @Test func httpECEVectorsAreDecryptedAndReproduced() throws {
        let messages = try WebPushVectors.httpECE().web_push
        #expect(messages.count == 6)
        for message in messages {
            let plaintext = try WebPushVectors.bytes(message.plaintext)
            let salt = try WebPushVectors.bytes(message.salt)
            let body = try WebPushVectors.bytes(message.body)
            #expect(try self.decrypt(body) == plaintext)
            let own = try WebPushEncryption.encrypt(
                plaintext,
                p256dh: self.vector.ua_public,
                auth: self.vector.auth_secret,
                ephemeral: self.privateKey(message.as_private),
                random: { _ in salt }
            )
            #expect(own == body)
        }
    }

    @Test func theLongestPlaintextFillsABodyOf4096() throws {
        let keys = try WebPushKeys(p256dh: self.vector.ua_public, auth: self.vector.auth_secret)
        let longest = [UInt8](repeating: 1, count: WebPushEncryption.maximumPlaintextByteCount)
        #expect(longest.count == 3993)
        #expect(try WebPushEncryption.encrypt(longest, to: keys).count == 4096)
        let padded = try WebPushEncryption.encrypt([1], to: keys, padding: 3992)
        #expect(padded.count == 4096)
        #expect(try self.decrypt(padded) == [1])
        let tooLong = WebPushEncryptionError.plaintextTooLong(limit: 3993)
        #expect(throws: tooLong) { try WebPushEncryption.encrypt(longest + [1], to: keys) }
        #expect(throws: tooLong) { try WebPushEncryption.encrypt(longest, to: keys, padding: 1) }
        #expect(throws: tooLong) { try WebPushEncryption.encrypt([], to: keys, padding: .max) }
        #expect(throws: tooLong) { try WebPushEncryption.encrypt([], to: keys, padding: -1) }
    }

    @Test func eachMessageHasKeysAndSaltOfItsOwn() throws {
        let keys = try WebPushKeys(p256dh: self.vector.ua_public, auth: self.vector.auth_secret)
        let bodies = try (0..<3).map { _ in try WebPushEncryption.encrypt([1], to: keys) }
        #expect(Set(bodies.map { Array($0[..<16]) }).count == 3)
        #expect(Set(bodies.map { Array($0[21..<86]) }).count == 3)
        for body in bodies {
            #expect(try self.decrypt(body) == [1])
        }
    }

    @Test func otherKeysCannotDecrypt() throws {
        let body = try WebPushVectors.bytes(self.vector.body)
        let secret = try WebPushVectors.bytes(self.vector.auth_secret)
        #expect(throws: WebPushEncryptionError.notAuthentic) {
            try WebPushEncryption.decrypt(body, privateKey: P256PrivateKey(), authenticationSecret: secret)
        }
        let own = try self.privateKey(self.vector.ua_private)
        #expect(throws: WebPushEncryptionError.notAuthentic) {
            try WebPushEncryption.decrypt(body, privateKey: own, authenticationSecret: secret.reversed())
        }
    }

    @Test func aSenderKeyOffTheCurveIsRefused() throws {
        var body = try WebPushVectors.bytes(self.vector.body)
        body[85] ^= 1
        #expect(
            throws: WebPushEncryptionError.malformedMessage(expected: "a sender's key of 65 bytes that is on P-256")
        ) {
            try self.decrypt(body)
        }
    }

    @Test func severalRecordsAreRefused() throws {
        var body = try WebPushVectors.bytes(self.vector.body)
        // A record size of 57, one less than the record has.
        body[18...19] = [0, 57]
        #expect(throws: WebPushEncryptionError.malformedMessage(expected: "exactly one record")) {
            try self.decrypt(body)
        }
    }

    @Test func bodiesCutAnywhereAreRefused() throws {
        let body = try WebPushVectors.bytes(self.vector.body)
        for count in 0..<body.count {
            #expect(throws: WebPushEncryptionError.self) { try self.decrypt(Array(body[..<count])) }
        }
    }
}
