/// Why a text is no regular expression.
package struct PatternError: Error, Hashable, CustomStringConvertible {
    /// In PCRE2's words, where it is PCRE2 that refuses.
    package let message: String
    /// How many characters of the expression come before the place; nil: it is about the whole.
    package let offset: Int?

    package var description: String {
        offset.map { "\(message) (after \($0) character\($0 == 1 ? "" : "s"))" } ?? message
    }
}
