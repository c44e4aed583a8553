import Cipher
import PluginKit

extension APNsConfiguration {
    private static let certificateExpectation = "the path of a certificate, in PEM or as .p12"
    /// In seconds.
    private static let noticeBeforeExpiry: Int64 = 30 * 86_400

    /// A certificate where the block names one, else the key that signs provider tokens.
    static func authentication(_ block: JSONObject) throws(PluginError) -> Authentication {
        let companions: [StaticString] = ["certificate_key_file", "certificate_password_file"]
        guard let path = try block.text("certificate_file", expected: certificateExpectation) else {
            for name in companions where block[name]?.isNull == false {
                throw PluginError("\(name): expected certificate_file beside it, \(certificateExpectation)")
            }
            return try token(block)
        }
        for name in ["team_id", "key_id", "key_file", "key"] as [StaticString] where block[name]?.isNull == false {
            throw PluginError("\(name): expected none beside certificate_file: it is for provider tokens")
        }
        let bytes = try ConfigurationFile.readBytes(path, key: "certificate_file")
        return .certificate(try identity(bytes, block))
    }

    /// Throws unless the certificate may send to `topic` at `now`, in milliseconds since 1970. Returns what an operator should
    /// know of it.
    static func check(
        _ certificate: X509Certificate,
        topic: String,
        now: Int64
    ) throws(PluginError) -> [String] {
        let now = now / 1000
        guard certificate.notAfter > now else {
            throw PluginError(
                "certificate_file: expected a certificate that is valid, this one expired on "
                    + CalendarDate.text(certificate.notAfter)
            )
        }
        guard certificate.notBefore <= now else {
            throw PluginError(
                "certificate_file: expected a certificate that is valid already, this one is so from "
                    + "\(CalendarDate.text(certificate.notBefore)) on: check it and this machine's clock"
            )
        }
        let topics = certificate.topics
        guard !topics.isEmpty else {
            throw PluginError("certificate_file: expected a push certificate of Apple's, this one names no topic")
        }
        guard topics.contains(topic) else {
            throw PluginError("topic: expected one of the certificate's, \(topics.joined(separator: ", "))")
        }
        guard certificate.notAfter - now < noticeBeforeExpiry else { return [] }
        return [
            "certificate_file: the certificate expires on \(CalendarDate.text(certificate.notAfter)): renew it before"
        ]
    }

    /// DER begins with a SEQUENCE, and no text does with that byte and a length.
    private static func isPKCS12(_ bytes: [UInt8]) -> Bool {
        bytes.count > 2 && bytes[0] == 0x30 && bytes[1] >= 0x80
    }

    private static func identity(_ bytes: [UInt8], _ block: JSONObject) throws(PluginError) -> ClientIdentity {
        let keyPath = try block.text("certificate_key_file", expected: "the path of the certificate's private key")
        let passphrase = try passphrase(block)
        if isPKCS12(bytes) {
            guard keyPath == nil else {
                throw PluginError("certificate_key_file: expected none beside a .p12 file, which holds the key itself")
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
        let key = try keyPath.map { path throws(PluginError) in
            try ConfigurationFile.read(path, key: "certificate_key_file")
        }
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
        guard let path = try block.text("certificate_password_file", expected: expected) else { return nil }
        return try ConfigurationFile.read(path, key: "certificate_password_file").withoutLineBreakAtEnd
    }
}

extension String {
    /// As editors leave one.
    var withoutLineBreakAtEnd: String { last?.isNewline == true ? String(dropLast()) : self }
}
