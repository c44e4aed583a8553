import COpenSSL

/// One element of an ASN.1 value in its distinguished encoding (X.690): what it is and where its content lies.
struct DERElement {
    let tag: Int32
    let content: UnsafeBufferPointer<UInt8>

    /// Reads the element at the start of `bytes` and moves them behind it; `nil` when there is none that is whole.
    init?(_ bytes: inout UnsafeBufferPointer<UInt8>) {
        var position = bytes.baseAddress
        var (length, tag, tagClass) = (0, Int32(0), Int32(0))
        // 0x80 is libcrypto's sign for an error, 1 for a length that is not stated, which DER does not know.
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

    /// Nil when it is no text, or none of ASCII or UTF-8.
    var text: String? {
        let isText = [V_ASN1_UTF8STRING, V_ASN1_PRINTABLESTRING, V_ASN1_IA5STRING].contains(self.tag)
        return isText ? String(validating: self.content, as: UTF8.self) : nil
    }

    /// The texts directly in the SEQUENCE that `bytes` are; none when they are something else, or broken anywhere.
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
