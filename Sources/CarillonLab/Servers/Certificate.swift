import COpenSSL
import Cipher

/// An X.509 certificate (RFC 5280) under construction.
final class Certificate {
    private let x509: OpaquePointer

    enum Extension {
        /// In the syntax of OpenSSL's configuration files.
        case named(Int32, String)
        /// By its object identifier, in DER.
        case raw(String, [UInt8])
    }

    /// Signed by `issuer`, or self-signed without one. `subject` uses OpenSSL's short names; `valid` is in seconds
    /// since 1970.
    init(
        subject: [(name: String, value: String)],
        key: P256PrivateKey,
        issuer: (certificate: Certificate, key: P256PrivateKey)?,
        valid: Range<Int64>,
        extensions: [Extension]
    ) throws(LabError) {
        guard let x509 = X509_new() else { throw LabError.system("libcrypto made no certificate.") }
        self.x509 = x509
        let ownKey = try Self.libraryKey(key)
        defer { EVP_PKEY_free(ownKey) }
        let issuerKey = try Self.libraryKey(issuer?.key ?? key)
        defer { EVP_PKEY_free(issuerKey) }
        let issuerX509 = issuer?.certificate.x509 ?? x509

        // 2 means version 3. A random serial of 64 bits keeps certificates of several runs apart in a client's cache.
        var isGood = X509_set_version(x509, 2) == 1
        let serial = SecureRandom.bytes(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1
        isGood = isGood && ASN1_INTEGER_set_uint64(X509_get_serialNumber(x509), serial) == 1
        isGood = isGood && ASN1_TIME_set(X509_getm_notBefore(x509), time_t(valid.lowerBound)) != nil
        isGood = isGood && ASN1_TIME_set(X509_getm_notAfter(x509), time_t(valid.upperBound)) != nil
        for (name, value) in subject {
            isGood = isGood && Self.add(name, value, toNameOf: x509)
        }
        isGood = isGood && X509_set_issuer_name(x509, X509_get_subject_name(issuerX509)) == 1
        isGood = isGood && X509_set_pubkey(x509, ownKey) == 1
        for one in extensions {
            isGood = isGood && Self.add(one, to: x509, issuer: issuerX509)
        }
        isGood = isGood && X509_sign(x509, issuerKey, EVP_sha256()) > 0
        guard isGood else {
            ERR_clear_error()
            throw LabError.system("libcrypto could not make the lab's certificate.")
        }
    }

    /// Reads a certificate. Throws `LabError` if the text is not one.
    init(pem: String) throws(LabError) {
        guard let x509 = Self.read(pem, { PEM_read_bio_X509($0, nil, nil, nil) }) else {
            throw LabError.invalid("That is no certificate in PEM.")
        }
        self.x509 = x509
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

    /// Certificate and key in one file, as PKCS#12 (RFC 7292).
    func pkcs12(key: P256PrivateKey, password: String) throws(LabError) -> [UInt8] {
        let libraryKey = try Self.libraryKey(key)
        defer { EVP_PKEY_free(libraryKey) }
        guard let made = PKCS12_create(password, "Carillon lab", libraryKey, x509, nil, 0, 0, 0, 0, 0) else {
            ERR_clear_error()
            throw LabError.system("libcrypto wrote no PKCS#12.")
        }
        defer { PKCS12_free(made) }
        var bytes = [UInt8](repeating: 0, count: max(0, Int(i2d_PKCS12(made, nil))))
        let count = bytes.withUnsafeMutableBufferPointer { buffer in
            var pointer = buffer.baseAddress
            return i2d_PKCS12(made, &pointer)
        }
        guard count > 0 else { throw LabError.system("libcrypto wrote no PKCS#12.") }
        return bytes
    }

    private static func add(_ name: String, _ value: String, toNameOf x509: OpaquePointer) -> Bool {
        let text = Array(value.utf8)
        let subject = X509_get_subject_name(x509)
        return X509_NAME_add_entry_by_txt(subject, name, MBSTRING_FLAG | 1, text, Int32(text.count), -1, 0) == 1
    }

    private static func add(_ one: Extension, to x509: OpaquePointer, issuer: OpaquePointer) -> Bool {
        let made: OpaquePointer?
        switch one {
        case .named(let nid, let value):
            var context = v3_ext_ctx()
            X509V3_set_ctx(&context, issuer, x509, nil, nil, 0)
            made = X509V3_EXT_nconf_nid(nil, &context, nid, value)
        case .raw(let oid, let der):
            let object = OBJ_txt2obj(oid, 1)
            defer { ASN1_OBJECT_free(object) }
            let octets = ASN1_OCTET_STRING_new()
            defer { ASN1_OCTET_STRING_free(octets) }
            guard ASN1_OCTET_STRING_set(octets, der, Int32(der.count)) == 1 else { return false }
            made = X509_EXTENSION_create_by_OBJ(nil, object, 0, octets)
        }
        guard let made else { return false }
        defer { X509_EXTENSION_free(made) }
        return X509_add_ext(x509, made, -1) == 1
    }

    private static func libraryKey(_ key: P256PrivateKey) throws(LabError) -> OpaquePointer {
        guard let key = self.read(key.pemRepresentation, { PEM_read_bio_PrivateKey($0, nil, nil, nil) }) else {
            throw LabError.system("libcrypto did not read back a key it wrote.")
        }
        return key
    }

    /// Has libcrypto read a text in PEM, which stays in memory until `parse` returns: a BIO does not copy it. The caller
    /// frees the result.
    static func read(_ pem: String, _ parse: (OpaquePointer?) -> OpaquePointer?) -> OpaquePointer? {
        var pem = pem
        return pem.withUTF8 { bytes in
            let input = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
            defer { BIO_free(input) }
            let result = parse(input)
            ERR_clear_error()
            return result
        }
    }
}
