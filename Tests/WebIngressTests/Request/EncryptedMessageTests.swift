import Cipher
import Testing

@testable import WebIngress

@Suite struct EncryptedMessageTests {
    private static let salt = Base64URL.encode(Samples.salt)
    private static let dh = Base64URL.encode(Samples.senderKey)

    /// `Encryption`, then `Crypto-Key`, each in one or more lines.
    @Test(arguments: [
        (["salt=\(salt)"], ["dh=\(dh);p256ecdsa=xyz"]),
        (["salt=\(salt)"], ["p256ecdsa=xyz;dh=\(dh)"]),
        (["salt=\(salt)"], ["dh=\(dh),p256ecdsa=xyz"]),
        (["salt=\(salt)"], ["p256ecdsa=xyz, dh=\(dh)"]),
        (["salt=\(salt)"], ["p256ecdsa=xyz", "dh=\(dh)"]),
        (["salt=\"\(salt)\""], ["dh=\"\(dh)\"; p256ecdsa=\"xyz\""]),
        (["salt=\(Base64URL.encodePadded(Samples.salt))"], ["dh=\(Base64URL.encodePadded(Samples.senderKey))"]),
        (["salt=\"\(Base64URL.encodePadded(Samples.salt))\";rs=4096"], ["dh=\(Base64.encode(Samples.senderKey))"]),
        (["rs=4096;salt=\(salt)"], ["keyid=p256dh;dh=\(dh)"]),
        (["keyid=b;salt=\(salt)"], ["keyid=b;dh=\(dh), keyid=a;dh=xyz"]),
        (["SALT=\(salt)"], ["DH=\(dh)"]),
    ])
    func saltAndKeyAreFoundHoweverTheyAreWritten(encryption: [String], cryptoKey: [String]) throws {
        var request = Samples.legacy()
        request.encryption = encryption
        request.cryptoKey = cryptoKey
        let message = try #require(EncryptedMessage(request))
        #expect(message.coding == .aesgcm)
        #expect(message.salt == Samples.salt && message.senderKey == Samples.senderKey)
        #expect(message.body == request.body)
    }

    @Test(
        arguments: [
            ([], .aesgcm), ([""], .aesgcm), (["AESGCM"], .aesgcm), (["identity, aesgcm"], .aesgcm),
            (["identity", "aesgcm"], .aesgcm),
            (["aesgcm128"], nil), (["gzip"], nil), (["aesgcm, gzip"], nil), (["aesgcm", "aes128gcm"], nil),
        ] as [([String], EncryptedMessage.Coding?)]
    )
    func theCodingIsTheOneThatIsNamed(contentEncoding: [String], coding: EncryptedMessage.Coding?) {
        var request = Samples.legacy()
        request.contentEncoding = contentEncoding
        #expect(EncryptedMessage(request)?.coding == coding)
    }

    @Test func theStandardsExampleIsRead() throws {
        let message = try #require(EncryptedMessage(Samples.standard))
        #expect(message.coding == .aes128gcm)
        #expect(Base64URL.encode(message.salt) == Samples.standardSalt)
        #expect(Base64URL.encode(message.senderKey) == Samples.standardKey)
        #expect(message.body == Samples.standardBody)
    }

    @Test func whatNobodyCanDecryptIsNone() {
        var requests: [PushRequest] = []
        func without(_ change: (inout PushRequest) -> Void) {
            var request = Samples.legacy()
            change(&request)
            requests.append(request)
        }
        without { $0.encryption = [] }
        without { $0.cryptoKey = [] }
        without { $0.encryption = ["rs=4096"] }
        without { $0.encryption = ["salt=\(Base64URL.encode(Array(0..<15)))"] }
        without { $0.encryption = ["salt=%%%"] }
        without { $0.cryptoKey = ["p256ecdsa=\(Self.dh)"] }
        without { $0.cryptoKey = ["dh=\(Base64URL.encode(Samples.senderKey.dropLast()))"] }
        without { $0.cryptoKey = ["dh=\(Base64URL.encode([0x03] + Samples.senderKey.dropFirst()))"] }
        without { $0.body = [] }
        without { $0.body = Array(0..<17) }
        without { $0.body = nil }
        for count in [0, 20, 86, 102] {
            requests.append(
                PushRequest(contentEncoding: ["aes128gcm"], body: Array(Samples.standardBody.prefix(count)))
            )
        }
        // A key identifier that is no key, as in RFC 8188's own examples.
        requests.append(
            PushRequest(contentEncoding: ["aes128gcm"], body: Samples.salt + [0, 0, 16, 0, 2, 97, 49] + Array(0..<40))
        )
        for request in requests { #expect(EncryptedMessage(request) == nil) }
    }
}
