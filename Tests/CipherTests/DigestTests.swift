import Cipher
import Testing

@Suite struct DigestTests {
    /// FIPS 180-2 appendix B.1 and B.2, and the well-known digest of no bytes.
    static let digests = [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ]

    private func authenticated(by authenticator: HMACSHA256Authenticator, _ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: HMACSHA256.byteCount) { room, count in
            message.withUnsafeBytes { authenticator.authenticate($0, into: UnsafeMutableRawBufferPointer(room)) }
            count = HMACSHA256.byteCount
        }
    }

    @Test(arguments: digests)
    func hashesAsFIPS180Does(message: String, digest: String) {
        #expect(Hex.encode(SHA256.hash(Array(message.utf8))) == digest)
    }

    @Test(arguments: digests)
    func hashesParts(message: String, digest: String) {
        let stream = SHA256Stream()
        for byte in message.utf8 { stream.update([byte]) }
        #expect(Hex.encode(stream.finish()) == digest)
    }

    @Test func oneHasherHashesOneMessageAfterTheOther() {
        let hasher = SHA256Hasher()
        var output = [UInt8](repeating: 0, count: 32)
        for (message, digest) in Self.digests + Self.digests {
            Array(message.utf8).withUnsafeBytes { message in
                output.withUnsafeMutableBytes { hasher.hash(message, into: $0) }
            }
            #expect(Hex.encode(output) == digest)
        }
    }

    /// RFC 4231 test cases 1, 2 and 6.
    @Test func authenticatesAsRFC4231Does() {
        let first = HMACSHA256.authenticationCode(for: Array("Hi There".utf8), key: [UInt8](repeating: 0x0b, count: 20))
        #expect(Hex.encode(first) == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7")
        let second = HMACSHA256.authenticationCode(
            for: Array("what do ya want for nothing?".utf8),
            key: Array("Jefe".utf8)
        )
        #expect(Hex.encode(second) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let sixth = HMACSHA256.authenticationCode(
            for: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            key: [UInt8](repeating: 0xaa, count: 131)
        )
        #expect(Hex.encode(sixth) == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54")
    }

    /// One key for several messages: a message must not affect the next.
    @Test func authenticatesOneMessageAfterTheOther() {
        let authenticator = HMACSHA256Authenticator(key: Array("Jefe".utf8))
        let empty = HMACSHA256Authenticator(key: [])
        for _ in 0..<3 {
            let code = authenticated(by: authenticator, Array("what do ya want for nothing?".utf8))
            #expect(Hex.encode(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
            #expect(authenticated(by: authenticator, []) != code)
            let nothing = Hex.encode(authenticated(by: empty, []))
            #expect(nothing == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
        }
    }

    /// The code of an empty message under an empty key, computed by Python's hmac.
    @Test func emptyMessageIsAuthenticatedUnderAnEmptyKey() {
        let code = HMACSHA256.authenticationCode(for: [], key: [])
        #expect(Hex.encode(code) == "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
    }

    /// RFC 5869 appendix A.1.
    @Test func derivesAsRFC5869Does() throws {
        let key = HKDFSHA256.extract(salt: Array(0...0x0c), inputKeyMaterial: [UInt8](repeating: 0x0b, count: 22))
        #expect(Hex.encode(key) == "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5")
        let output = try HKDFSHA256.expand(pseudoRandomKey: key, info: Array(0xf0...0xf9), length: 42)
        let expected = "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
        #expect(Hex.encode(output) == expected)
    }

    /// RFC 5869 appendix A.3: neither salt nor info.
    @Test func derivesWithoutSaltAndInfo() throws {
        let key = HKDFSHA256.extract(salt: [], inputKeyMaterial: [UInt8](repeating: 0x0b, count: 22))
        #expect(Hex.encode(key) == "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293ccb04")
        let output = try HKDFSHA256.expand(pseudoRandomKey: key, info: [], length: 42)
        let expected = "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
        #expect(Hex.encode(output) == expected)
    }

    @Test func hkdfDerivesAtMost255Blocks() throws {
        #expect(try HKDFSHA256.expand(pseudoRandomKey: [1], info: [], length: 8160).count == 8160)
        #expect(throws: CipherError.wrongLength(of: "HKDF output", expected: "0 to 8160", actual: 8161)) {
            try HKDFSHA256.expand(pseudoRandomKey: [1], info: [], length: 8161)
        }
    }
}
