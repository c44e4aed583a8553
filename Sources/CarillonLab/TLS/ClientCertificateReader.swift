import COpenSSL

/// Reads what a client's certificate (RFC 5280) says, and whether the lab's authority said it.
struct ClientCertificateReader: Sendable {
    let authorityPEM: String

    /// Of one in DER.
    func read(_ der: [UInt8]) -> ProviderCertificate {
        var certificate = ProviderCertificate(topics: [], environments: [], flaw: nil)
        let parsed = der.withUnsafeBufferPointer { buffer in
            var pointer = buffer.baseAddress
            return d2i_X509(nil, &pointer, buffer.count)
        }
        guard let parsed else {
            ERR_clear_error()
            certificate.flaw = "the client's certificate is not readable"
            return certificate
        }
        defer { X509_free(parsed) }
        certificate.flaw = flaw(of: parsed)
        if let der = Self.extension(ApplePushExtension.topics, of: parsed) {
            certificate.topics = Set(ApplePushExtension.decode(der) ?? [])
        }
        if let userID = Self.userID(of: parsed) {
            certificate.topics.insert(userID)
        }
        if Self.extension(ApplePushExtension.production, of: parsed) != nil {
            certificate.environments.insert(.production)
        }
        if Self.extension(ApplePushExtension.sandbox, of: parsed) != nil {
            certificate.environments.insert(.sandbox)
        }
        return certificate
    }

    private func flaw(of x509: OpaquePointer) -> String? {
        let text = Array(authorityPEM.utf8)
        let input = BIO_new_mem_buf(text, Int32(text.count))
        defer { BIO_free(input) }
        let authority = PEM_read_bio_X509(input, nil, nil, nil)
        defer { X509_free(authority) }
        guard X509_verify(x509, X509_get0_pubkey(authority)) == 1 else {
            ERR_clear_error()
            return "the lab's authority has not signed the client's certificate"
        }
        // Certificates go by the machine's clock, whatever time the lab believes it is.
        guard X509_cmp_time(X509_get0_notBefore(x509), nil) < 0, X509_cmp_time(X509_get0_notAfter(x509), nil) > 0 else {
            return "the client's certificate has expired, or is not valid yet"
        }
        return nil
    }

    private static func `extension`(_ oid: String, of x509: OpaquePointer) -> [UInt8]? {
        let object = OBJ_txt2obj(oid, 1)
        defer { ASN1_OBJECT_free(object) }
        let place = X509_get_ext_by_OBJ(x509, object, -1)
        guard place >= 0, let found = X509_get_ext(x509, place), let value = X509_EXTENSION_get_data(found) else {
            return nil
        }
        return Array(UnsafeBufferPointer(start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value))))
    }

    private static func userID(of x509: OpaquePointer) -> String? {
        let subject = X509_get_subject_name(x509)
        let place = X509_NAME_get_index_by_NID(subject, NID_userId, -1)
        guard place >= 0, let entry = X509_NAME_get_entry(subject, place), let value = X509_NAME_ENTRY_get_data(entry)
        else { return nil }
        let bytes = UnsafeBufferPointer(start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value)))
        return String(decoding: bytes, as: UTF8.self)
    }
}
