import Cipher
import Testing

@Suite struct P256Tests {
    /// RFC 7515 appendix A.3: an ES256 signature, and the key it was made with.
    @Test func verifiesTheExampleOfRFC7515() throws {
        let x = try #require(Base64URL.decode("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        let y = try #require(Base64URL.decode("x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"))
        let scalar = try #require(Base64URL.decode("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"))
        let signature = try #require(
            Base64URL.decode("DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q")
        )
        let message = Array(
            ("eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQog"
                + "Imh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8
        )
        let key = try P256PublicKey(x963Representation: [4] + x + y)
        #expect(key.isValidES256(signature, for: message))
        #expect(!key.isValidES256(signature, for: message + [0]))
        #expect(try P256PrivateKey(rawRepresentation: scalar).publicKey.x963Representation == key.x963Representation)
    }

    /// RFC 5903 section 8.1: both sides of an agreement.
    @Test func agreesAsRFC5903Does() throws {
        let own = try #require(Hex.decode("c88f01f510d9ac3f70a292daa2316de544e9aab8afe84049c62a9c57862d1433"))
        let other = try #require(Hex.decode("c6ef9c5d78ae012a011164acb397ce2088685d8f06bf9be0b283ab46476bee53"))
        let shared = "d6840f6b42f6edafd13116e0e12565202fef8e9ece7dce03812464d04b9442de"
        let ownKey = try P256PrivateKey(rawRepresentation: own)
        let otherKey = try P256PrivateKey(rawRepresentation: other)
        #expect(Hex.encode(try ownKey.sharedSecret(with: otherKey.publicKey)) == shared)
        #expect(Hex.encode(try otherKey.sharedSecret(with: ownKey.publicKey)) == shared)
    }

    @Test func verifiesWhatItSigns() throws {
        let key = P256PrivateKey()
        // Enough signatures that some have an r or s with a leading zero byte.
        for number in 0..<600 {
            let message = Array("message \(number)".utf8)
            let signature = try key.signES256(message)
            #expect(signature.count == 64)
            #expect(key.publicKey.isValidES256(signature, for: message))
        }
    }

    @Test func refusesSignaturesOfAnotherForm() throws {
        let key = P256PrivateKey()
        let signature = try key.signES256([1])
        #expect(!key.publicKey.isValidES256(Array(signature.dropLast()), for: [1]))
        #expect(!key.publicKey.isValidES256(signature + [0], for: [1]))
        #expect(!key.publicKey.isValidES256([UInt8](repeating: 0, count: 64), for: [1]))
        #expect(!key.publicKey.isValidES256([UInt8](repeating: 0xff, count: 64), for: [1]))
        #expect(!P256PrivateKey().publicKey.isValidES256(signature, for: [1]))
    }

    /// The scalar that openssl 3.0 shows for the key in the files `sec1*`, `pkcs8*` and `public*`.
    static let scalar = "bee941aebc510e916181c8ba8e2d74a0833ccae69fd7384a623f9421548eb77a"
    static let point =
        "04c04196b566842e7d197aabf5f1b92cb993026ce39c6bd960d21c3345717c6ffc"
        + "f6a550a13a55fd2708fbe211bc42663f4e61e68cb6f29ff87627bbfe599c0120"

    @Test(arguments: [
        "pkcs8.p8", "sec1.pem", "sec1-with-parameters.pem", "sec1-compressed.pem", "sec1-without-public.pem",
    ])
    func readsPrivateKeysThatOpenSSLWrote(file: String) throws {
        let key = try P256PrivateKey(pem: Vectors.text("PEM/\(file)"))
        #expect(Hex.encode(key.rawRepresentation) == Self.scalar)
        #expect(Hex.encode(key.publicKey.x963Representation) == Self.point)
    }

    @Test(arguments: ["public.pem", "public-compressed.pem"])
    func readsPublicKeysThatOpenSSLWrote(file: String) throws {
        let key = try P256PublicKey(pem: Vectors.text("PEM/\(file)"))
        #expect(Hex.encode(key.x963Representation) == Self.point)
    }

    /// Made with `openssl dgst -sha256 -sign sec1.pem`.
    @Test func verifiesWhatOpenSSLSigned() throws {
        let signature = try #require(
            Hex.decode(
                "98f14c456f7eea1d84e3220b3854d7eb6d5158b8f9552d4579dd9f8c7bc7e27e"
                    + "623e099c048865d83e31ee2335e247f33d2a648b29549128aa1736464ddd8e9e"
            )
        )
        let key = try P256PublicKey(pem: Vectors.text("PEM/public.pem"))
        #expect(key.isValidES256(signature, for: Array("signed by openssl".utf8)))
    }

    @Test func writesPEMThatOpenSSLWrites() throws {
        let key = try P256PrivateKey(pem: Vectors.text("PEM/sec1.pem"))
        #expect(try key.pemRepresentation == Vectors.text("PEM/pkcs8.p8"))
        #expect(try key.publicKey.pemRepresentation == Vectors.text("PEM/public.pem"))
    }

    @Test(arguments: ["p384.pem", "ed25519.pem", "secp256k1.pem"])
    func refusesPrivateKeysOfOtherKinds(file: String) throws {
        let text = try Vectors.text("PEM/\(file)")
        #expect(throws: CipherError.notP256) { try P256PrivateKey(pem: text) }
    }

    @Test func refusesPublicKeysOfOtherKinds() throws {
        let text = try Vectors.text("PEM/secp256k1-public.pem")
        #expect(throws: CipherError.notP256) { try P256PublicKey(pem: text) }
    }

    @Test func invalidPEMAndEncryptedKeysAreRefused() throws {
        let expected = CipherError.unreadablePEM(expected: "a PRIVATE KEY (PKCS#8) or EC PRIVATE KEY block")
        let whole = try Vectors.text("PEM/pkcs8.p8")
        let texts = [
            "", "\0", "a key", String(whole.dropLast(40)), try Vectors.text("PEM/public.pem"),
            try Vectors.text("PEM/pkcs8-encrypted.pem"),
        ]
        for text in texts {
            #expect(throws: expected) { try P256PrivateKey(pem: text) }
        }
        #expect(throws: CipherError.unreadablePEM(expected: "a PUBLIC KEY block")) { try P256PublicKey(pem: whole) }
    }

    @Test func refusesPointsThatAreNotOnTheCurve() throws {
        let point = try #require(Hex.decode(Self.point))
        for index in point.indices {
            var changed = point
            changed[index] ^= 1
            #expect(throws: CipherError.notOnCurve) { try P256PublicKey(x963Representation: changed) }
        }
        let nothing: [UInt8] = [4] + [UInt8](repeating: 0, count: 64)
        #expect(throws: CipherError.notOnCurve) { try P256PublicKey(x963Representation: nothing) }
        let tooLarge: [UInt8] = [4] + [UInt8](repeating: 0xff, count: 64)
        #expect(throws: CipherError.notOnCurve) { try P256PublicKey(x963Representation: tooLarge) }
        let hybrid: [UInt8] = [6 + (point[64] & 1)] + point[1...]
        #expect(throws: CipherError.notOnCurve) { try P256PublicKey(x963Representation: hybrid) }
        #expect(throws: CipherError.self) { try P256PublicKey(x963Representation: Array(point.dropLast())) }
        #expect(throws: CipherError.self) { try P256PublicKey(x963Representation: [2] + point[1...32]) }
        #expect(throws: CipherError.self) { try P256PublicKey(x963Representation: []) }
    }

    @Test func refusesScalarsOutsideTheCurve() throws {
        let order = try #require(Hex.decode("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"))
        #expect(throws: CipherError.invalidSecretKey) { try P256PrivateKey(rawRepresentation: order) }
        #expect(throws: CipherError.invalidSecretKey) {
            try P256PrivateKey(rawRepresentation: [UInt8](repeating: 0, count: 32))
        }
        #expect(throws: CipherError.wrongLength(of: "P-256 private key", expected: "32", actual: 31)) {
            try P256PrivateKey(rawRepresentation: Array(order.dropLast()))
        }
        var last = order
        last[31] -= 1
        #expect(try P256PrivateKey(rawRepresentation: last).rawRepresentation == last)
    }

    @Test func freshKeysDifferAndSurviveTheirOwnForms() throws {
        let key = P256PrivateKey()
        #expect(key.rawRepresentation != P256PrivateKey().rawRepresentation)
        let again = try P256PrivateKey(rawRepresentation: key.rawRepresentation)
        #expect(again.publicKey.x963Representation == key.publicKey.x963Representation)
    }

    @Test func oneKeyServesConcurrentTasks() async throws {
        let key = P256PrivateKey()
        let peer = P256PrivateKey()
        let secret = try peer.sharedSecret(with: key.publicKey)
        let results = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<64 {
                group.addTask {
                    let message = Array("\(number)".utf8)
                    let signature = try key.signES256(message)
                    return try key.publicKey.isValidES256(signature, for: message)
                        && key.sharedSecret(with: peer.publicKey) == secret
                }
            }
            return try await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(results == [Bool](repeating: true, count: 64))
    }
}
