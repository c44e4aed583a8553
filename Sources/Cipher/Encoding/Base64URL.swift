/// Base 64 with the alphabet that is safe in URLs and file names (RFC 4648 section 5), written without padding.
package enum Base64URL {
    private static let alphabet = Base64Alphabet(last: "-_")

    package static func encode(_ bytes: [UInt8]) -> String {
        self.alphabet.encode(bytes, padded: false)
    }

    /// The same with padding, as Ruby's `Base64.urlsafe_encode64` and others write it.
    package static func encodePadded(_ bytes: [UInt8]) -> String {
        self.alphabet.encode(bytes, padded: true)
    }

    /// Returns `nil` unless `text` is what ``encode(_:)`` makes of some bytes, with or without padding.
    package static func decode(_ text: String) -> [UInt8]? {
        self.alphabet.decode(text, padding: .optional)
    }
}
