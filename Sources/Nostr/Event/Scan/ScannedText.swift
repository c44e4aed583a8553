/// Where a part of a scanned event lies, and how it is written.
package struct ScannedText: Hashable, Sendable {
    /// Offsets in the scanned bytes: of the text between the quotation marks of a content, of an array of tags with
    /// both its brackets.
    package let range: Range<Int>
    /// Whether it is written exactly as in the canonical form of NIP-01: no whitespace between tags, no escapes that
    /// need not be.
    package let isCanonical: Bool
    /// Whether it has control characters without an escape of their own in NIP-01, for which two canonical forms are
    /// in use.
    package let hasControlCharacters: Bool

    init(range: Range<Int>, traits: JSONString.Traits, hasWhitespace: Bool = false) {
        self.range = range
        self.isCanonical = !traits.contains(.recoded) && !hasWhitespace
        self.hasControlCharacters = traits.contains(.control)
    }
}
