import COpenSSL

/// An X.509 certificate (RFC 5280). Its signature is not checked here.
///
/// Unchecked Sendable: the libcrypto certificate is never changed after init, and libcrypto protects its caches with
/// locks.
package final class X509Certificate: @unchecked Sendable {
    let certificate: OpaquePointer

    /// When it becomes valid, in seconds since 1970.
    package let notBefore: Int64
    /// When it expires, in seconds since 1970.
    package let notAfter: Int64

    /// Takes ownership of `certificate`.
    ///
    /// Throws if its times cannot be read.
    init(adopting certificate: OpaquePointer) throws {
        guard
            let notBefore = X509Certificate.seconds(X509_get0_notBefore(certificate)),
            let notAfter = X509Certificate.seconds(X509_get0_notAfter(certificate))
        else {
            X509_free(certificate)
            throw CipherError.unreadableCertificate
        }
        self.certificate = certificate
        self.notBefore = notBefore
        self.notAfter = notAfter
    }

    deinit {
        X509_free(self.certificate)
    }

    /// The values of the attribute `UID` of its subject (RFC 4519 section 2.39).
    package var userIDs: [String] {
        let name = X509_get_subject_name(self.certificate)
        var values: [String] = []
        var index = X509_NAME_get_index_by_NID(name, NID_userId, -1)
        while index >= 0 {
            if let value = X509Certificate.text(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, index))) {
                values.append(value)
            }
            index = X509_NAME_get_index_by_NID(name, NID_userId, index)
        }
        return values
    }

    /// The certificate as PEM with a `CERTIFICATE` block.
    package var pemRepresentation: String {
        PEM.write(certificate: self.certificate)
    }

    /// The SHA-256 digest of the whole certificate: 32 bytes that identify it.
    package var fingerprint: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: SHA256.byteCount) { buffer, initialized in
            let status = X509_digest(self.certificate, SHA256.implementation, buffer.baseAddress, nil)
            Library.require(status == 1, "X509_digest")
            initialized = SHA256.byteCount
        }
    }

    /// Returns the strings directly in the SEQUENCE of an extension, without nested ones; empty if there is no such
    /// extension or it is not a SEQUENCE. `identifier` is dotted: `1.2.840.113635.100.6.3.6`.
    package func strings(inExtension identifier: String) -> [String] {
        guard let object = OBJ_txt2obj(identifier, 1) else {
            Library.clearErrors()
            return []
        }
        defer { ASN1_OBJECT_free(object) }
        let index = X509_get_ext_by_OBJ(self.certificate, object, -1)
        guard index >= 0, let value = X509_EXTENSION_get_data(X509_get_ext(self.certificate, index)) else {
            Library.clearErrors()
            return []
        }
        let bytes = UnsafeBufferPointer(start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value)))
        return DERElement.strings(inSequence: bytes)
    }

    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        let epoch = ASN1_TIME_set(nil, 0)
        defer { ASN1_TIME_free(epoch) }
        var (days, seconds) = (Int32(0), Int32(0))
        guard let time, ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else {
            Library.clearErrors()
            return nil
        }
        return Int64(days) * 86_400 + Int64(seconds)
    }

    private static func text(_ string: UnsafePointer<ASN1_STRING>?) -> String? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = ASN1_STRING_to_UTF8(&bytes, string)
        defer { CRYPTO_free(bytes, #file, #line) }
        guard count >= 0, let bytes else {
            Library.clearErrors()
            return nil
        }
        return String(decoding: UnsafeBufferPointer(start: bytes, count: Int(count)), as: UTF8.self)
    }
}

/// An element of an ASN.1 value in its distinguished encoding (X.690): its tag and its content.
struct DERElement {
    let tag: Int32
    let content: UnsafeBufferPointer<UInt8>

    /// Reads the element at the start of `bytes` and advances them past it; `nil` if there is no complete element.
    init?(_ bytes: inout UnsafeBufferPointer<UInt8>) {
        var position = bytes.baseAddress
        var (length, tag, tagClass) = (0, Int32(0), Int32(0))
        // libcrypto returns 0x80 for an error, and 1 for an indefinite length, which DER does not allow.
        let kind = ASN1_get_object(&position, &length, &tag, &tagClass, bytes.count)
        guard kind & 0x81 == 0, tagClass == V_ASN1_UNIVERSAL, let start = bytes.baseAddress, let position else {
            Library.clearErrors()
            return nil
        }
        let header = position - start
        guard length >= 0, length <= bytes.count - header else { return nil }
        self.tag = tag
        self.content = UnsafeBufferPointer(rebasing: bytes[header..<header + length])
        bytes = UnsafeBufferPointer(rebasing: bytes[(header + length)...])
    }

    /// Nil unless it is a string in ASCII or UTF-8.
    var text: String? {
        let isText = [V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING].contains(self.tag)
        return isText ? String(validating: self.content, as: UTF8.self) : nil
    }

    /// Returns the strings directly in the SEQUENCE of `bytes`; empty if they are not a SEQUENCE, or malformed.
    static func strings(inSequence bytes: UnsafeBufferPointer<UInt8>) -> [String] {
        var rest = bytes
        guard let sequence = DERElement(&rest), sequence.tag == V_ASN1_SEQUENCE, rest.isEmpty else { return [] }
        var content = sequence.content
        var strings: [String] = []
        while !content.isEmpty {
            guard let element = DERElement(&content) else { return [] }
            if let text = element.text { strings.append(text) }
        }
        return strings
    }
}
