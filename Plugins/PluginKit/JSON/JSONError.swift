/// Why a text is not the JSON that was expected, and where. It never quotes the text.
public struct JSONError: Error, CustomStringConvertible, Sendable, Hashable {
    /// What should have been there.
    public let expected: String
    /// Bytes from the start of the text.
    public let position: Int

    /// What was expected, and at which byte of the text.
    public var description: String { "expected \(expected) at byte \(position)" }
}
