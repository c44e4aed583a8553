/// Base 64 with the standard alphabet and padding (RFC 4648 section 4).
package enum Base64 {
    private static let alphabet = Base64Alphabet(last: "+/")

    package static func encode(_ bytes: [UInt8]) -> String {
        self.alphabet.encode(bytes, padded: true)
    }

    /// Returns `nil` unless `text` is exactly what ``encode(_:)`` makes of some bytes.
    package static func decode(_ text: String) -> [UInt8]? {
        self.alphabet.decode(text, padding: .required)
    }
}
