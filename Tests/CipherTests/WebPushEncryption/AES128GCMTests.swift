import Cipher
import Testing

@Suite struct AES128GCMTests {
    @Test func theExamplesOfRFC8188() throws {
        let vectors = try WebPushVectors.rfc8188()
        #expect(vectors.count == 2)
        for vector in vectors {
            let key = try WebPushVectors.bytes(vector.key)
            let header = try AES128GCMHeader(
                salt: WebPushVectors.bytes(vector.salt),
                recordSize: vector.rs,
                keyIdentifier: Array(vector.keyid.utf8)
            )
            let body = try WebPushVectors.bytes(vector.body)
            let plaintext = Array(vector.plaintext_utf8.utf8)
            let keys = try ContentKeys(inputKeyMaterial: key, salt: header.salt)
            if let contentEncryptionKey = vector.CEK, let nonce = vector.NONCE {
                #expect(Base64URL.encode(keys.contentEncryptionKey) == contentEncryptionKey)
                #expect(Base64URL.encode(keys.nonce(ofRecord: 0)) == nonce)
            }
            #expect(
                try AES128GCM.encrypt(plaintext, inputKeyMaterial: key, header: header, padding: vector.pad ?? 0)
                    == body
            )
            let decrypted = try AES128GCM.decrypt(body) { read in
                #expect(read == header)
                return key
            }
            #expect(decrypted == plaintext)
        }
    }

    @Test func httpECEVectorsAreReproduced() throws {
        for vector in try WebPushVectors.httpECE().content {
            let key = try WebPushVectors.bytes(vector.key)
            let plaintext = try WebPushVectors.bytes(vector.plaintext)
            let body = try WebPushVectors.bytes(vector.body)
            #expect(try AES128GCM.decrypt(body) { _ in key } == plaintext)
            let header = try AES128GCMHeader(
                salt: WebPushVectors.bytes(vector.salt),
                recordSize: vector.rs,
                keyIdentifier: Array(vector.keyid.utf8)
            )
            #expect(try AES128GCM.encrypt(plaintext, inputKeyMaterial: key, header: header) == body)
        }
    }

    static let key = [UInt8](repeating: 5, count: 16)

    static func header(recordSize: UInt32) throws -> AES128GCMHeader {
        try AES128GCMHeader(salt: [UInt8](repeating: 6, count: 16), recordSize: recordSize, keyIdentifier: [])
    }

    @Test(arguments: [18, 19, 20, 33, 4096] as [UInt32])
    func everyLengthAndPaddingRoundTrips(recordSize: UInt32) throws {
        let header = try Self.header(recordSize: recordSize)
        for length in 0...40 {
            for padding in [0, 1, 2, 15, 16, 17, 40] {
                let plaintext = [UInt8](repeating: 0, count: length)
                let content = try AES128GCM.encrypt(
                    plaintext,
                    inputKeyMaterial: Self.key,
                    header: header,
                    padding: padding
                )
                #expect(try AES128GCM.decrypt(content) { _ in Self.key } == plaintext)
                let capacity = Int(recordSize) - 17
                let records = max(1, (length + padding + capacity - 1) / capacity)
                #expect(content.count == 21 + length + padding + 17 * records)
            }
        }
    }

    @Test func theRecordNumberIsFoldedIntoTheEndOfTheNonce() throws {
        let keys = try ContentKeys(inputKeyMaterial: Self.key, salt: [UInt8](repeating: 6, count: 16))
        #expect(keys.nonce(ofRecord: 0) == keys.nonceBase)
        var expected = keys.nonceBase
        expected[11] ^= 0x01
        expected[10] ^= 0x02
        expected[4] ^= 0x80
        #expect(keys.nonce(ofRecord: 0x8000_0000_0000_0201) == expected)
    }

    @Test func omittedSwappedOrAddedRecordsAreRefused() throws {
        let header = try Self.header(recordSize: 20)
        let content = try AES128GCM.encrypt(Array(1...9), inputKeyMaterial: Self.key, header: header)
        let head = content[..<21]
        let records = [content[21..<41], content[41..<61], content[61..<81]]
        let cases: [([UInt8], WebPushEncryptionError)] = [
            (Array(head + records[0] + records[1]), Self.lastDelimiter),
            (Array(head + records[1] + records[2]), .notAuthentic),
            (Array(head + records[1] + records[0] + records[2]), .notAuthentic),
            (Array(content + records[2]), Self.earlierDelimiter),
            (Array(content.dropLast()), .notAuthentic),
            (Array(content.dropLast(4)), .malformedMessage(expected: "records of at least 17 bytes")),
            (Array(content + [0]), Self.earlierDelimiter),
            (Array(head), .malformedMessage(expected: "records of at least 17 bytes")),
        ]
        for (changed, error) in cases {
            #expect(throws: error) { try AES128GCM.decrypt(changed) { _ in Self.key } }
        }
    }

    static let lastDelimiter = WebPushEncryptionError.malformedMessage(expected: "a delimiter of 2 in the last record")
    static let earlierDelimiter = WebPushEncryptionError.malformedMessage(
        expected: "a delimiter of 1 in each record except the last"
    )

    @Test func aRecordOfZerosAloneHasNoDelimiter() throws {
        let header = try Self.header(recordSize: 4096)
        let keys = try ContentKeys(inputKeyMaterial: Self.key, salt: header.salt)
        let record = try AESGCM.seal([0, 0, 0], key: keys.contentEncryptionKey, nonce: keys.nonce(ofRecord: 0))
        #expect(throws: Self.lastDelimiter) {
            try AES128GCM.decrypt(header.bytes + record) { _ in Self.key }
        }
    }

    @Test func everyChangedByteIsDetected() throws {
        let header = try Self.header(recordSize: 20)
        let content = try AES128GCM.encrypt(Array(1...9), inputKeyMaterial: Self.key, header: header)
        for index in content.indices {
            var changed = content
            changed[index] ^= 1
            #expect(throws: WebPushEncryptionError.self) { try AES128GCM.decrypt(changed) { _ in Self.key } }
        }
    }

    @Test func contentCutAnywhereIsRefused() throws {
        let header = try AES128GCMHeader(
            salt: [UInt8](repeating: 6, count: 16),
            recordSize: 20,
            keyIdentifier: [1, 2, 3]
        )
        let content = try AES128GCM.encrypt(Array(1...9), inputKeyMaterial: Self.key, header: header)
        for count in 0..<content.count {
            #expect(throws: WebPushEncryptionError.self) {
                try AES128GCM.decrypt(Array(content[..<count])) { _ in Self.key }
            }
        }
    }

    @Test func headersOutsideTheRFCAreRefused() throws {
        let salt = [UInt8](repeating: 6, count: 16)
        #expect(throws: WebPushEncryptionError.invalidSalt) {
            try AES128GCMHeader(salt: [1], recordSize: 18, keyIdentifier: [])
        }
        #expect(throws: WebPushEncryptionError.invalidRecordSize) {
            try AES128GCMHeader(salt: salt, recordSize: 17, keyIdentifier: [])
        }
        #expect(throws: WebPushEncryptionError.invalidKeyIdentifier) {
            try AES128GCMHeader(salt: salt, recordSize: 18, keyIdentifier: [UInt8](repeating: 0, count: 256))
        }
        #expect(throws: WebPushEncryptionError.malformedMessage(expected: "a record size of at least 18")) {
            try AES128GCMHeader(startOf: salt + [0, 0, 0, 17, 0])
        }
        let longest = try AES128GCMHeader(
            salt: salt,
            recordSize: .max,
            keyIdentifier: [UInt8](repeating: 9, count: 255)
        )
        #expect(try AES128GCMHeader(startOf: longest.bytes + [1, 2]) == longest)
    }
}
