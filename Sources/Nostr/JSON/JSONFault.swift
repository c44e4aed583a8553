/// Where a text stopped being JSON (RFC 8259), and what should have stood there.
package struct JSONFault: Error, Hashable, Sendable, CustomStringConvertible {
    enum Expectation: String, Hashable, Sendable {
        case array = "an array"
        case arrayEnd = "a comma or ]"
        case colon = "a colon"
        case distinctNames = "every field of an object only once"
        case endOfText = "the end of the text"
        case escape = "one of the escapes of JSON after a backslash"
        case escapedControl = "control characters in strings to be escaped"
        case literal = "true, false or null"
        case noDeeperNesting = "no more than 64 levels of nesting"
        case number = "a digit"
        case object = "an object"
        case objectEnd = "a comma or }"
        case quote = "a quotation mark that ends the string"
        case string = "a string"
        case surrogatePair = "a surrogate to be one of a pair"
        case utf8 = "valid UTF-8"
        case value = "a value"
    }

    let expectation: Expectation
    /// Counted in bytes from the start of the text.
    package let offset: Int

    package var description: String {
        "expected \(expectation.rawValue) at byte \(offset)"
    }
}
