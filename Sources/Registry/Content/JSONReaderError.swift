/// Where a JSON text stops being one, and what was expected there. Never quotes the text.
struct JSONReaderError: Error, Hashable, CustomStringConvertible {
    /// In bytes from the start of the text.
    var offset: Int
    var expected: String

    var description: String { "expected \(expected) at byte \(offset)" }
}
