import Cipher
import Testing

@Suite struct RSATests {
    /// RFC 7515 appendix A.2.1: the signing input and its signature. PKCS#1 v1.5 takes no random bytes.
    private static let message = Array(
        ("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQog"
            + "Imh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ").utf8
    )
    private static let signature =
        "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CU"
        + "Ar7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_"
        + "dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0"
        + "igcN_IoypGlUPQGe77Rw"

    @Test(arguments: ["rsa-rfc7515.pem", "rsa-rfc7515-pkcs1.pem"])
    func signsTheExampleOfRFC7515(file: String) throws {
        let key = try RSAPrivateKey(pem: Vectors.text("PEM/\(file)"))
        #expect(Base64URL.encode(try key.signRS256(Self.message)) == Self.signature)
    }

    @Test func verifiesTheExampleOfRFC7515AndNothingElse() throws {
        let signature = try #require(Base64URL.decode(Self.signature))
        let key = try RSAPublicKey(pem: Vectors.text("PEM/rsa-rfc7515-public.pem"))
        #expect(key.isValidRS256(signature, for: Self.message))
        #expect(!key.isValidRS256(signature, for: Self.message + [0]))
        #expect(!key.isValidRS256(Array(signature.dropLast()), for: Self.message))
        #expect(!key.isValidRS256(signature + [0], for: Self.message))
        #expect(!key.isValidRS256([], for: Self.message))
        for index in stride(from: 0, to: signature.count, by: 37) {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.isValidRS256(changed, for: Self.message))
        }
        #expect(!RSAPrivateKey().publicKey.isValidRS256(signature, for: Self.message))
    }

    @Test func writesPEMThatOthersWrite() throws {
        let key = try RSAPrivateKey(pem: Vectors.text("PEM/rsa-rfc7515-pkcs1.pem"))
        #expect(try key.pemRepresentation == Vectors.text("PEM/rsa-rfc7515.pem"))
        #expect(try key.publicKey.pemRepresentation == Vectors.text("PEM/rsa-rfc7515-public.pem"))
    }

    @Test(arguments: ["pkcs8.p8", "ed25519.pem", "rsa-pss.pem"])
    func refusesPrivateKeysOfOtherKinds(file: String) throws {
        let text = try Vectors.text("PEM/\(file)")
        #expect(throws: CipherError.notRSA) { try RSAPrivateKey(pem: text) }
    }

    @Test func refusesPublicKeysOfOtherKinds() throws {
        let text = try Vectors.text("PEM/public.pem")
        #expect(throws: CipherError.notRSA) { try RSAPublicKey(pem: text) }
    }

    @Test func refusesShortKeys() throws {
        let pair = try Vectors.text("PEM/rsa-2047.pem")
        let half = try Vectors.text("PEM/rsa-2047-public.pem")
        #expect(throws: CipherError.shortRSAKey(bitCount: 2047)) { try RSAPrivateKey(pem: pair) }
        #expect(throws: CipherError.shortRSAKey(bitCount: 2047)) { try RSAPublicKey(pem: half) }
    }

    @Test func invalidPEMAndEncryptedKeysAreRefused() throws {
        let expected = CipherError.unreadablePEM(expected: "a PRIVATE KEY (PKCS#8) or RSA PRIVATE KEY block")
        let whole = try Vectors.text("PEM/rsa-rfc7515.pem")
        let texts = [
            "", "\0", "a key", String(whole.dropLast(40)), try Vectors.text("PEM/rsa-rfc7515-public.pem"),
            try Vectors.text("PEM/rsa-rfc7515-encrypted.pem"),
        ]
        for text in texts {
            #expect(throws: expected) { try RSAPrivateKey(pem: text) }
        }
    }

    @Test func keyIsHiddenInDescriptions() throws {
        let key = RSAPrivateKey()
        #expect("\(key)" == "RSAPrivateKey(concealed)")
        #expect(key.pemRepresentation.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        #expect(try RSAPrivateKey(pem: key.pemRepresentation).publicKey.isValidRS256(key.signRS256([1]), for: [1]))
    }
}
