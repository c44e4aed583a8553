/// One mistake in a file that a person wrote: where it is and what was expected there.
package struct Mistake: Error, Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// From 1; 0 when the mistake is about the file as a whole.
    package let line: Int
    /// From 1; 0 when the mistake is about the line or the file as a whole.
    package let column: Int
    package let message: String

    package init(file: String, line: Int = 0, column: Int = 0, message: String) {
        self.file = file
        self.line = line
        self.column = column
        self.message = message
    }

    /// `file:line:column: message`, the form that editors and terminals turn into a link.
    package var description: String {
        line > 0 ? "\(file):\(line):\(column): \(message)" : "\(file): \(message)"
    }
}
