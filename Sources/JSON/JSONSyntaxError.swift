/// Says where a text is not JSON (RFC 8259), and what was expected there.
public struct JSONSyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Expectation: String, Hashable, Sendable {
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

    public let expectation: Expectation
    /// Counted in bytes from the start of the text.
    public let offset: Int

    public init(expectation: Expectation, offset: Int) {
        self.expectation = expectation
        self.offset = offset
    }

    public var description: String {
        "expected \(expectation.rawValue) at byte \(offset)"
    }
}

/// An error that can be made of a ``JSONSyntaxError``, so that readers of events and of messages throw their own
/// errors.
public protocol JSONSyntaxErrorConvertible: Error {
    init(_ fault: JSONSyntaxError)
}

extension JSONSyntaxError: JSONSyntaxErrorConvertible {
    public init(_ fault: JSONSyntaxError) {
        self = fault
    }
}
