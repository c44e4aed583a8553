import Cipher
import Foundation
import Testing

/// Files that the openssl command wrote.
@Suite struct ClientIdentityTests {
    private static let topics = ["com.example.app", "com.example.app.voip", "com.example.app.complication"]
    private static let topicList = "1.2.840.113635.100.6.3.6"
    /// The fingerprint of universal.crt, by `openssl x509 -fingerprint -sha256`.
    private static let fingerprint = "606fe854ecc688a11795c6a51c2025bcedd58763aafcec7abac2f48adcd6acf6"

    private func text(_ name: String) throws -> String { try Vectors.text("X509/\(name)") }

    private func bytes(_ name: String) throws -> [UInt8] { try Vectors.bytes("X509/\(name)") }

    @Test func certificateFieldsAreRead() throws {
        let file = try text("universal.pem")
        let identity = try ClientIdentity(certificates: file, key: file)
        let certificate = identity.certificate
        #expect(certificate.userIDs == ["com.example.app"])
        #expect(certificate.strings(inExtension: Self.topicList) == Self.topics)
        #expect(certificate.notBefore == 1_767_225_600)
        #expect(certificate.notAfter == 1_798_761_600)
        #expect(Hex.encode(certificate.fingerprint) == Self.fingerprint)
        #expect(try identity.certificatesPEM == text("universal.crt"))
        #expect(try identity.keyPEM == text("universal.key"))
    }

    @Test func missingCertificateFieldsAreEmpty() throws {
        let single = try ClientIdentity(certificates: text("single.crt"), key: text("single.key")).certificate
        #expect(single.userIDs == ["com.example.app"])
        #expect(single.strings(inExtension: Self.topicList) == [])
        // A constraint, which is a sequence without strings, and an invalid object identifier.
        #expect(single.strings(inExtension: "2.5.29.19") == [])
        #expect(single.strings(inExtension: "topics") == [])
        let other = try ClientIdentity(certificates: text("other.crt"), key: text("other.key")).certificate
        #expect(other.userIDs == [])
    }

    @Test(arguments: ["universal.p12", "universal-legacy.p12"])
    func readsPKCS12InNewAndOldWays(_ name: String) throws {
        let identity = try ClientIdentity(pkcs12: bytes(name), passphrase: "secret")
        #expect(try identity.certificatesPEM == text("universal.crt") + text("other.crt"))
        #expect(try identity.keyPEM == text("universal.key"))
        #expect(identity.certificate.strings(inExtension: Self.topicList) == Self.topics)
    }

    @Test func readsPKCS12WithoutAPassphrase() throws {
        let identity = try ClientIdentity(pkcs12: bytes("universal-open.p12"))
        #expect(try identity.keyPEM == text("universal.key"))
    }

    @Test func opensAnEncryptedKey() throws {
        let (certificates, key) = try (text("universal.crt"), text("universal-encrypted.key"))
        #expect(
            try ClientIdentity(certificates: certificates, key: key, passphrase: "secret").keyPEM
                == text("universal.key")
        )
        for passphrase in [nil, "", "wrong"] {
            #expect(throws: CipherError.unreadableKey) {
                try ClientIdentity(certificates: certificates, key: key, passphrase: passphrase)
            }
        }
    }

    @Test func theOwnCertificateComesFirst() throws {
        let identity = try ClientIdentity(certificates: text("chain.crt"), key: text("universal.key"))
        #expect(try identity.certificatesPEM == text("universal.crt") + text("other.crt"))
    }

    @Test func keyOfAnotherCertificateIsRefused() throws {
        let (certificates, key) = try (text("universal.crt"), text("other.key"))
        #expect(throws: CipherError.keyOfAnotherCertificate) {
            try ClientIdentity(certificates: certificates, key: key)
        }
    }

    @Test func invalidCertificateOrKeyIsRefused() throws {
        let (certificate, key) = try (text("universal.crt"), text("universal.key"))
        for text in ["", "\0", key, String(certificate.dropLast(60))] {
            #expect(throws: CipherError.unreadableCertificate) { try ClientIdentity(certificates: text, key: key) }
        }
        for text in ["", "\0", certificate, String(key.dropLast(60))] {
            #expect(throws: CipherError.unreadableKey) { try ClientIdentity(certificates: certificate, key: text) }
        }
    }

    @Test(arguments: ["wrong", ""]) func refusesAnotherPassphrase(_ passphrase: String) throws {
        let bytes = try bytes("universal.p12")
        #expect(throws: CipherError.wrongPassphrase) { try ClientIdentity(pkcs12: bytes, passphrase: passphrase) }
    }

    @Test func invalidPKCS12IsRefused() throws {
        let whole = try bytes("universal.p12")
        for bytes in [[], [0], Array(whole.dropLast()), Array(whole.prefix(40)), Array("text".utf8)] {
            #expect(throws: CipherError.unreadablePKCS12) { try ClientIdentity(pkcs12: bytes, passphrase: "secret") }
        }
        let noKey = try bytes("no-key.p12")
        #expect(throws: CipherError.emptyPKCS12) { try ClientIdentity(pkcs12: noKey, passphrase: "secret") }
    }

    /// Each of these is rejected or read; none may crash the process.
    @Test func survivesBrokenFiles() throws {
        let whole = try bytes("universal-legacy.p12")
        var read = 0
        for index in stride(from: 0, to: whole.count, by: 7) {
            var broken = whole
            broken[index] ^= 0x55
            if (try? ClientIdentity(pkcs12: broken, passphrase: "secret")) != nil { read += 1 }
        }
        #expect(read < whole.count / 7 / 4)
        let certificate = try text("universal.crt")
        let key = try text("universal.key")
        let der = try #require(Base64.decode(certificate.split(separator: "\n").dropFirst().dropLast().joined()))
        for index in 0..<der.count {
            var broken = der
            broken[index] ^= 0x55
            let pem = "-----BEGIN CERTIFICATE-----\n\(Base64.encode(broken))\n-----END CERTIFICATE-----\n"
            let identity = try? ClientIdentity(certificates: pem, key: key)
            _ = identity?.certificate.strings(inExtension: Self.topicList)
            _ = identity?.certificate.userIDs
        }
    }

    @Test func keyIsHiddenInDescriptions() throws {
        let file = try text("universal.pem")
        let identity = try ClientIdentity(certificates: file, key: file)
        #expect("\(identity)" == "ClientIdentity(concealed)")
    }
}
