import COpenSSL
import Cipher

/// A certificate authority made for one run of the lab, and the certificate of its servers.
///
/// Clients trust it through `certificatePEM`; its key is forgotten once the server's certificate is signed.
struct CertificateAuthority {
    let certificatePEM: String
    let serverCertificatePEM: String
    let serverKeyPEM: String

    /// Valid from a day before to a year after `now`, in seconds since 1970, for localhost, 127.0.0.1 and ::1.
    init(now: Int64) throws(LabError) {
        let authorityKey = P256PrivateKey()
        let serverKey = P256PrivateKey()
        let authority = try Certificate(
            subject: "Carillon lab authority",
            key: authorityKey,
            issuer: nil,
            now: now,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ]
        )
        let server = try Certificate(
            subject: "localhost",
            key: serverKey,
            issuer: (authority, authorityKey),
            now: now,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, "serverAuth"),
                (NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1,IP:::1"),
                (NID_subject_key_identifier, "hash"),
                (NID_authority_key_identifier, "keyid:always"),
            ]
        )
        certificatePEM = try authority.pem()
        serverCertificatePEM = try server.pem()
        serverKeyPEM = serverKey.pemRepresentation
    }
}
