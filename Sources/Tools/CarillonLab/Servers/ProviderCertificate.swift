import COpenSSL

/// The permissions that a push certificate grants.
struct ProviderCertificate: Sendable, Equatable {
    /// From the extension 1.2.840.113635.100.6.3.6, and the UID of the subject.
    var topics: Set<String>
    var environments: Set<APNsEnvironment>
    /// The certificate's problem; nil if it is valid.
    var defect: String?

    /// The topic of a request without `apns-topic`.
    var onlyTopic: String? { topics.count == 1 ? topics.first : nil }

    func check(in environment: APNsEnvironment) throws(APNsError) {
        if let defect { throw APNsError(.badCertificate, defect) }
        guard environments.contains(environment) else {
            throw APNsError(.badCertificateEnvironment, "the certificate is not for \(environment.rawValue)")
        }
    }
}

/// Reads a client's certificate (RFC 5280), and checks whether the lab's authority issued it.
struct ClientCertificateReader: Sendable {
    let authorityPEM: String

    /// Parses a certificate in DER.
    func read(_ der: [UInt8]) -> ProviderCertificate {
        var certificate = ProviderCertificate(topics: [], environments: [], defect: nil)
        let parsed = der.withUnsafeBufferPointer { buffer in
            var pointer = buffer.baseAddress
            return d2i_X509(nil, &pointer, buffer.count)
        }
        guard let parsed else {
            ERR_clear_error()
            certificate.defect = "the client's certificate is not readable"
            return certificate
        }
        defer { X509_free(parsed) }
        certificate.defect = defect(of: parsed)
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

    private func defect(of x509: OpaquePointer) -> String? {
        let authority = Certificate.read(authorityPEM) { PEM_read_bio_X509($0, nil, nil, nil) }
        defer { X509_free(authority) }
        guard X509_verify(x509, X509_get0_pubkey(authority)) == 1 else {
            ERR_clear_error()
            return "the lab's authority has not signed the client's certificate"
        }
        // Certificates are checked with the machine's clock, not the lab's.
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

/// Apple's extensions of push certificates.
enum ApplePushExtension {
    /// A sequence of topics, each followed by a sequence of its uses.
    static let topics = "1.2.840.113635.100.6.3.6"
    static let sandbox = "1.2.840.113635.100.6.3.1"
    static let production = "1.2.840.113635.100.6.3.2"
    /// NULL: such an extension has no content.
    static let present: [UInt8] = [0x05, 0x00]

    /// In DER (X.690).
    static func encode(_ topics: [String]) -> [UInt8] {
        let members = topics.flatMap { topic in
            let purpose = APNsPushType.suffix(of: topic).dropFirst()
            return tagged(0x0c, Array(topic.utf8))
                + tagged(0x30, tagged(0x0c, Array((purpose.isEmpty ? "app" : purpose).utf8)))
        }
        return tagged(0x30, members)
    }

    /// The texts of the outer sequence; nil if it is invalid.
    static func decode(_ der: [UInt8]) -> [String]? {
        guard let (tag, content, rest) = element(der[...]), tag == 0x30, rest.isEmpty else { return nil }
        var topics: [String] = []
        var left = content
        while !left.isEmpty {
            guard let (tag, content, rest) = element(left) else { return nil }
            if tag == 0x0c {
                topics.append(String(decoding: content, as: UTF8.self))
            }
            left = rest
        }
        return topics
    }

    private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let low = UInt8(truncatingIfNeeded: content.count)
        let length: [UInt8] =
            switch content.count {
            case 0..<0x80: [low]
            case 0x80...0xff: [0x81, low]
            default: [0x82, UInt8(truncatingIfNeeded: content.count >> 8), low]
            }
        return [tag] + length + content
    }

    private static func element(
        _ bytes: ArraySlice<UInt8>
    ) -> (tag: UInt8, content: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard bytes.count >= 2, let tag = bytes.first else { return nil }
        let first = bytes[bytes.startIndex + 1]
        let lengthBytes = first < 0x80 ? 0 : Int(first & 0x7f)
        guard lengthBytes <= 2, bytes.count >= 2 + lengthBytes else { return nil }
        let body = bytes.dropFirst(2)
        let length = first < 0x80 ? Int(first) : body.prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
        let content = body.dropFirst(lengthBytes)
        guard content.count >= length else { return nil }
        return (tag, content.prefix(length), content.dropFirst(length))
    }
}
