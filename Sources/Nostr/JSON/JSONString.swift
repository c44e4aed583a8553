/// A string as it stands in a JSON text: what is between its quotation marks, and how it was written.
struct JSONString {
    struct Traits: OptionSet {
        let rawValue: UInt8

        static let escaped = Traits(rawValue: 1)
        /// Written otherwise than NIP-01's canonical form would: `\/`, `\u0041`, `\u000A`.
        static let recoded = Traits(rawValue: 2)
        /// Has control characters that NIP-01 gives no escape of their own, such as `\u0001`.
        static let control = Traits(rawValue: 4)
    }

    /// Offset of the first byte after the opening quotation mark.
    let start: Int
    /// Offset of the closing quotation mark.
    let end: Int
    let traits: Traits

    var count: Int { end &- start }
    var range: Range<Int> { Range(uncheckedBounds: (start, end)) }
}
