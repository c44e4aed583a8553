import Cipher
import Foundation
import Testing

@Suite struct WebPushKeysTests {
    let point: [UInt8]
    let secret: [UInt8]

    init() throws {
        let vector = try WebPushVectors.rfc8291()
        self.point = try WebPushVectors.bytes(vector.ua_public)
        self.secret = try WebPushVectors.bytes(vector.auth_secret)
    }

    @Test func readsBase64OfEveryKind() throws {
        let spellings: [([UInt8]) -> String] = [
            Base64URL.encode,
            Base64.encode,
            { Base64.encode($0).replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_") },
        ]
        for spell in spellings {
            let keys = try WebPushKeys(p256dh: spell(self.point), auth: spell(self.secret))
            #expect(keys.publicKey.x963Representation == self.point)
            #expect(keys.authenticationSecret == self.secret)
        }
    }

    private func refusal(p256dh: [UInt8]? = nil, auth: [UInt8]? = nil) throws -> String {
        let error = try #require(throws: WebPushEncryptionError.self) {
            try WebPushKeys(p256dh: Base64URL.encode(p256dh ?? self.point), auth: Base64URL.encode(auth ?? self.secret))
        }
        return "\(error)"
    }

    @Test func errorNamesTheKeyAndItsExpectedForm() throws {
        var offCurve = self.point
        offCurve[64] ^= 1
        #expect(try self.refusal(p256dh: offCurve).contains("p256dh must be a point on P-256"))
        #expect(
            try self.refusal(p256dh: Array(self.point.dropLast()))
                == "the subscription's p256dh must be 65 bytes (an uncompressed point on P-256), not 64"
        )
        #expect(try self.refusal(p256dh: []).contains("65 bytes"))
        #expect(try self.refusal(auth: []) == "the subscription's auth must be 16 bytes, not 0")
        #expect(try self.refusal(auth: self.secret + [0]) == "the subscription's auth must be 16 bytes, not 17")
    }

    @Test(arguments: ["!", "BCVx sr7N", "ключ", "B"])
    func invalidBase64IsRefused(text: String) throws {
        let secret = Base64URL.encode(self.secret)
        let point = Base64URL.encode(self.point)
        #expect(throws: WebPushEncryptionError.malformedSubscriptionKey("p256dh", expected: "base64url")) {
            try WebPushKeys(p256dh: text, auth: secret)
        }
        #expect(throws: WebPushEncryptionError.malformedSubscriptionKey("auth", expected: "base64url")) {
            try WebPushKeys(p256dh: point, auth: text)
        }
    }

    @Test func keysAreHiddenInDescriptions() throws {
        let keys = try WebPushKeys(p256dh: self.point, auth: self.secret)
        var dumped = ""
        dump(keys, to: &dumped)
        for text in [String(describing: keys), String(reflecting: keys), "\(keys)", "\([keys])", dumped] {
            #expect(text.contains("WebPushKeys(concealed)"))
            #expect(!text.contains("\(self.secret[0])"))
        }
    }
}
