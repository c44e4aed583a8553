import ASCII

/// Base 64 with the standard alphabet and padding (RFC 4648 section 4).
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Alphabet.standard.encode(bytes, padded: true)
    }

    /// Returns `nil` unless `text` is exactly what ``encode(_:)`` makes of some bytes.
    package static func decode(_ text: String) -> [UInt8]? {
        Base64Alphabet.standard.decode(text, padding: .required)
    }
}

/// Base 64 with the alphabet that is safe in URLs and file names (RFC 4648 section 5), written without padding.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        Base64Alphabet.urlSafe.encode(bytes, padded: false)
    }

    /// The same with padding, as Ruby's `Base64.urlsafe_encode64` and others write it.
    package static func encodePadded(_ bytes: [UInt8]) -> String {
        Base64Alphabet.urlSafe.encode(bytes, padded: true)
    }

    /// Returns `nil` unless `text` is what ``encode(_:)`` makes of some bytes, with or without padding.
    package static func decode(_ text: String) -> [UInt8]? {
        Base64Alphabet.urlSafe.decode(text, padding: .optional)
    }
}
