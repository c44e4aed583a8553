import COpenSSL
import Cipher

/// A certificate authority made for one run of the lab, of its servers' certificate and its operators' push certificates.
struct CertificateAuthority: Sendable {
    /// A certificate and its key, both in PEM.
    struct Issued {
        var certificatePEM: String
        var keyPEM: String
    }

    private static let day: Int64 = 86_400

    /// What clients trust, and what push certificates are signed with.
    let certificatePEM: String
    private let key = P256PrivateKey()

    /// Valid from a day before to a year after `now`, in seconds since 1970.
    init(now: Int64) throws(LabError) {
        certificatePEM = try Certificate(
            subject: [("CN", "Carillon lab authority")],
            key: key,
            issuer: nil,
            valid: now - Self.day..<now + 365 * Self.day,
            extensions: [
                .named(NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                .named(NID_key_usage, "critical,keyCertSign,cRLSign"),
                .named(NID_subject_key_identifier, "hash"),
            ]
        ).pem()
    }

    /// For servers on localhost, 127.0.0.1 and ::1, and further names of theirs, for a year.
    func issueServer(named names: [String], now: Int64) throws(LabError) -> Issued {
        let others = names.map { ",DNS:" + $0 }.joined()
        let serverKey = P256PrivateKey()
        let server = try Certificate(
            subject: [("CN", "localhost")],
            key: serverKey,
            issuer: (Certificate(pem: certificatePEM), key),
            valid: now - Self.day..<now + 365 * Self.day,
            extensions: [
                .named(NID_basic_constraints, "critical,CA:FALSE"),
                .named(NID_key_usage, "critical,digitalSignature"),
                .named(NID_ext_key_usage, "serverAuth"),
                .named(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1" + others),
                .named(NID_subject_key_identifier, "hash"),
                .named(NID_authority_key_identifier, "keyid:always"),
            ]
        )
        return Issued(certificatePEM: try server.pem(), keyPEM: serverKey.pemRepresentation)
    }

    /// As Apple issues them, for the topics in the extension; the first is the UID of the subject.
    func issuePush(
        topics: [String],
        environments: Set<APNsEnvironment>,
        valid: Range<Int64>
    ) throws(LabError) -> PushCertificate {
        guard let first = topics.first else { throw LabError.invalid("A push certificate is for a topic at least.") }
        let pushKey = P256PrivateKey()
        let flags = [
            (APNsEnvironment.sandbox, ApplePushExtension.sandbox), (.production, ApplePushExtension.production),
        ]
        let certificate = try Certificate(
            subject: [("UID", first), ("CN", "Apple Push Services: \(first)"), ("C", "US")],
            key: pushKey,
            issuer: (Certificate(pem: certificatePEM), key),
            valid: valid,
            extensions: [
                .named(NID_basic_constraints, "critical,CA:FALSE"),
                .named(NID_key_usage, "critical,digitalSignature"),
                .named(NID_ext_key_usage, "clientAuth"),
                .named(NID_subject_key_identifier, "hash"),
                .named(NID_authority_key_identifier, "keyid:always"),
                .raw(ApplePushExtension.topics, ApplePushExtension.encode(topics)),
            ] + flags.filter { environments.contains($0.0) }.map { .raw($0.1, ApplePushExtension.present) }
        )
        let password = "lab"
        return PushCertificate(
            certificatePEM: try certificate.pem(),
            keyPEM: pushKey.pemRepresentation,
            pkcs12: try certificate.pkcs12(key: pushKey, password: password),
            password: password
        )
    }
}
