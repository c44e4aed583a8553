import COpenSSL
import Cipher

/// An X.509 certificate (RFC 5280) under construction.
final class Certificate {
    private let x509: OpaquePointer

    /// Signed by its issuer, or by itself where there is none. `now` in seconds since 1970.
    init(
        subject: String,
        key: P256PrivateKey,
        issuer: (certificate: Certificate, key: P256PrivateKey)?,
        now: Int64,
        extensions: [(nid: Int32, value: String)]
    ) throws(LabError) {
        guard let x509 = X509_new() else { throw LabError.system("libcrypto made no certificate.") }
        self.x509 = x509
        let ownKey = try Self.libraryKey(key)
        defer { EVP_PKEY_free(ownKey) }
        let issuerKey = try Self.libraryKey(issuer?.key ?? key)
        defer { EVP_PKEY_free(issuerKey) }
        let issuerX509 = issuer?.certificate.x509 ?? x509

        // 2 is version 3; a serial of 64 random bits keeps certificates of several runs apart in a client's cache.
        var isGood = X509_set_version(x509, 2) == 1
        let serial = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
        isGood = isGood && ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial) == 1
        isGood = isGood && ASN1_TIME_set(X509_getm_notBefore(x509), time_t(now - 86_400)) != nil
        isGood = isGood && ASN1_TIME_set(X509_getm_notAfter(x509), time_t(now + 365 * 86_400)) != nil
        isGood =
            isGood
            && X509_NAME_add_entry_by_txt(
                X509_get_subject_name(x509),
                "CN",
                MBSTRING_FLAG | 1,
                Array(subject.utf8),
                Int32(subject.utf8.count),
                -1,
                0
            )
                == 1
        isGood = isGood && X509_set_issuer_name(x509, X509_get_subject_name(issuerX509)) == 1
        isGood = isGood && X509_set_pubkey(x509, ownKey) == 1
        for (nid, value) in extensions {
            isGood = isGood && Self.add(nid, value, to: x509, issuer: issuerX509)
        }
        isGood = isGood && X509_sign(x509, issuerKey, EVP_sha256()) > 0
        guard isGood else {
            ERR_clear_error()
            throw LabError.system("libcrypto could not make the lab's certificate.")
        }
    }

    deinit {
        X509_free(x509)
    }

    func pem() throws(LabError) -> String {
        let output = BIO_new(BIO_s_mem())
        defer { BIO_free(output) }
        guard PEM_write_bio_X509(output, x509) == 1 else { throw LabError.system("libcrypto wrote no certificate.") }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
        let count = BIO_read(output, &bytes, Int32(bytes.count))
        return String(decoding: bytes.prefix(max(0, Int(count))), as: UTF8.self)
    }

    private static func add(_ nid: Int32, _ value: String, to x509: OpaquePointer, issuer: OpaquePointer) -> Bool {
        var context = v3_ext_ctx()
        X509V3_set_ctx(&context, issuer, x509, nil, nil, 0)
        guard let made = X509V3_EXT_nconf_nid(nil, &context, nid, value) else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(x509, made, -1) == 1
    }

    private static func libraryKey(_ key: P256PrivateKey) throws(LabError) -> OpaquePointer {
        let text = Array(key.pemRepresentation.utf8)
        let input = BIO_new_mem_buf(text, Int32(text.count))
        defer { BIO_free(input) }
        guard let key = PEM_read_bio_PrivateKey(input, nil, nil, nil) else {
            ERR_clear_error()
            throw LabError.system("libcrypto did not read back a key it wrote.")
        }
        return key
    }
}
