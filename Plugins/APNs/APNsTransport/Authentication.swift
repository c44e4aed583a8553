import Cipher
import Core
import PluginKit

/// How Apple authenticates the sender.
enum Authentication: Sendable {
    private static let certificateExpectation = "the path of a certificate, in PEM or as .p12"
    private static let noticeBeforeExpiry: Duration = .days(30)

    /// Provider tokens signed with a key of the team. Both ids are 10 letters and digits, from the developer account.
    case token(teamID: String, keyID: String, key: P256PrivateKey)
    /// A TLS client certificate.
    case certificate(ClientIdentity)

    /// Reads the certificate if the block names one, otherwise the key that signs provider tokens.
    init(_ block: JSONObject) throws(PluginError) {
        let companions: [StaticString] = ["certificate_key_file", "certificate_password_file"]
        guard let file = try block.file("certificate_file", expected: Authentication.certificateExpectation) else {
            for name in companions where block[name]?.isNull == false {
                throw PluginError(
                    "\(name): expected certificate_file too, \(Authentication.certificateExpectation)"
                )
            }
            self = try Authentication.token(block)
            return
        }
        for name in ["team_id", "key_id", "key_file", "key"] as [StaticString] where block[name]?.isNull == false {
            throw PluginError("\(name): not allowed with certificate_file: it is for provider tokens")
        }
        self = .certificate(try Authentication.identity(file.bytes(), block))
    }

    /// Throws unless the certificate may send to `topic` at `now`. Returns warnings for the operator.
    static func check(_ certificate: X509Certificate, topic: String, now: Timestamp) throws(PluginError) -> [String] {
        let notBefore = Timestamp(seconds: certificate.notBefore)
        let notAfter = Timestamp(seconds: certificate.notAfter)
        guard notAfter > now else {
            throw PluginError(
                "certificate_file: expected a valid certificate, this one expired on "
                    + CivilDate(notAfter).text
            )
        }
        guard notBefore <= now else {
            throw PluginError(
                "certificate_file: expected a valid certificate, this one is only valid from "
                    + "\(CivilDate(notBefore).text) on: check it and this machine's clock"
            )
        }
        let topics = certificate.topics
        guard !topics.isEmpty else {
            throw PluginError("certificate_file: expected a push certificate from Apple, this one contains no topic")
        }
        guard topics.contains(topic) else {
            throw PluginError("topic: expected one of the certificate's, \(topics.joined(separator: ", "))")
        }
        guard notAfter - now < noticeBeforeExpiry else { return [] }
        return ["certificate_file: the certificate expires on \(CivilDate(notAfter).text): renew it before"]
    }

    /// Whether pushes of a type may be sent for the app. A certificate lists its topics. Apple accepts location pushes
    /// with provider tokens only, and pushes for device management with certificates only.
    func covers(_ type: PushType, ofApp bundleID: String) -> Bool {
        switch self {
        case .token: type != .mdm
        case .certificate(let identity):
            type != .location && identity.certificate.topics.contains(bundleID + type.topicSuffix)
        }
    }

    /// Reads the key that signs provider tokens.
    private static func token(_ block: JSONObject) throws(PluginError) -> Authentication {
        .token(
            teamID: try identifier(block, "team_id", expected: "the team's id, 10 letters and digits"),
            keyID: try identifier(block, "key_id", expected: "the key's id, 10 letters and digits"),
            key: try signingKey(block)
        )
    }

    private static func identifier(
        _ block: JSONObject,
        _ name: StaticString,
        expected: String
    ) throws(PluginError) -> String {
        let identifier = try block.requiredText(name, expected: expected)
        guard identifier.utf8.count == 10, identifier.utf8.allSatisfy(\.isASCIILetterOrDigit) else {
            throw PluginError("\(name): expected \(expected)")
        }
        return identifier
    }

    private static func signingKey(_ block: JSONObject) throws(PluginError) -> P256PrivateKey {
        let file = try block.file("key_file", expected: "the path of Apple's .p8 file")
        let text = try block.text("key", expected: "the text of Apple's .p8 file")
        switch (file, text) {
        case (let file?, nil):
            return try signingKey(file.text(), under: "key_file")
        case (nil, let text?):
            return try signingKey(text, under: "key")
        case (nil, nil):
            throw PluginError("key_file: expected the path of Apple's .p8 file, or its text under key; found neither")
        case (.some, .some):
            throw PluginError("key: expected either key_file or key, found both")
        }
    }

    private static func signingKey(_ pem: String, under name: StaticString) throws(PluginError) -> P256PrivateKey {
        do {
            return try P256PrivateKey(pem: pem)
        } catch {
            throw PluginError("\(name): expected Apple's .p8 file, a PEM text with a private key on P-256: \(error)")
        }
    }

    /// DER starts with a SEQUENCE. No text starts with that byte and a length.
    private static func isPKCS12(_ bytes: [UInt8]) -> Bool {
        bytes.count > 2 && bytes[0] == 0x30 && bytes[1] >= 0x80
    }

    private static func identity(_ bytes: [UInt8], _ block: JSONObject) throws(PluginError) -> ClientIdentity {
        let keyFile = try block.file("certificate_key_file", expected: "the path of the certificate's private key")
        let passphrase = try passphrase(block)
        if isPKCS12(bytes) {
            guard keyFile == nil else {
                throw PluginError("certificate_key_file: not allowed with a .p12 file, which contains the key")
            }
            do {
                return try ClientIdentity(pkcs12: bytes, passphrase: passphrase ?? "")
            } catch let error as CipherError where error == .wrongPassphrase {
                throw PluginError("certificate_password_file: expected a file with the passphrase of certificate_file")
            } catch {
                throw PluginError("certificate_file: \(error)")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw PluginError("certificate_file: expected a certificate in PEM or as .p12, found neither")
        }
        let key = try keyFile?.text()
        do {
            return try ClientIdentity(certificates: text, key: key ?? text, passphrase: passphrase)
        } catch let error as CipherError where error == .unreadableKey && key != nil {
            throw PluginError("certificate_key_file: \(error)")
        } catch {
            throw PluginError("certificate_file: \(error)")
        }
    }

    private static func passphrase(_ block: JSONObject) throws(PluginError) -> String? {
        let expected = "the path of a file with the certificate's passphrase"
        return try block.file("certificate_password_file", expected: expected)?.text().withoutLineBreakAtEnd
    }
}

extension X509Certificate {
    /// Apple's list of the topics that a certificate may send to.
    private static let topicList = "1.2.840.113635.100.6.3.6"

    /// The topics that the certificate may send to.
    var topics: [String] {
        var topics = userIDs
        for topic in strings(inExtension: X509Certificate.topicList) where !topics.contains(topic) {
            topics.append(topic)
        }
        return topics
    }
}

extension String {
    /// Without the line break that editors leave at the end of a file.
    var withoutLineBreakAtEnd: String { last?.isNewline == true ? String(dropLast()) : self }
}
