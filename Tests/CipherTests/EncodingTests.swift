import Cipher
import Foundation
import Testing

@Suite struct EncodingTests {
    /// RFC 4648 section 10.
    static let examples = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: examples)
    func encodesAsRFC4648Does(plain: String, encoded: String) {
        let bytes = Array(plain.utf8)
        let bare = encoded.replacingOccurrences(of: "=", with: "")
        #expect(Base64.encode(bytes) == encoded)
        #expect(Base64.decode(encoded) == bytes)
        #expect(Base64URL.encode(bytes) == bare)
        #expect(Base64URL.decode(bare) == bytes)
        #expect(Base64URL.decode(encoded) == bytes)
    }

    @Test func agreesWithFoundation() {
        for count in 0..<200 {
            let bytes = SecureRandom.bytes(count)
            let encoded = Data(bytes).base64EncodedString()
            #expect(Base64.encode(bytes) == encoded)
            #expect(Base64.decode(encoded) == bytes)
            let url = encoded.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            #expect(Base64URL.decode(url) == bytes)
            #expect(Base64URL.encode(bytes) == url.replacingOccurrences(of: "=", with: ""))
        }
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Zm8", "Zm9v=", "Zm9vZ", "=", "==", "====", "Z===", "Zg==Zg==", "Zm9v\n", " Zm9v", "Zm-v",
        "Zm_v", "Zm9ф", "Zm\09", "Zh==", "Zm9=", "Z=g=",
    ])
    func standardBase64RefusesEverythingElse(text: String) {
        #expect(Base64.decode(text) == nil)
    }

    @Test(arguments: [
        "Zg=", "Zg===", "Zm9v=", "Zm9vZ", "=", "==", "====", "Z===", "Zm9v\n", " Zm9v", "Zm+v", "Zm/v", "Zm9ф", "Zh",
        "Zh==", "Zm9", "Zm9=",
    ])
    func urlBase64RefusesEverythingElse(text: String) {
        #expect(Base64URL.decode(text) == nil)
    }

    @Test func writesAndReadsHex() {
        let bytes: [UInt8] = [0x00, 0x09, 0x10, 0x9f, 0xa0, 0xff]
        #expect(Hex.encode(bytes) == "0009109fa0ff")
        #expect(Hex.encode([]) == "")
        #expect(Hex.decode("0009109fa0ff") == bytes)
        #expect(Hex.decode("x0009109fa0ff".dropFirst()) == bytes)
        #expect(Hex.decode("") == [])
        #expect(Hex.decode("0009109FA0ff") == nil)
        #expect(Hex.decode(anyCase: "0009109FA0ff") == bytes)
    }

    @Test(arguments: ["0", "000", "0g", "g0", "0:", "/0", "0@", "0`", "G0", " 00", "00 ", "0x00", "ф", "٣٣"])
    func hexRefusesEverythingElse(text: String) {
        #expect(Hex.decode(text) == nil)
        #expect(Hex.decode(anyCase: text) == nil)
    }
}
