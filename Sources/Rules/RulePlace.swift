/// Where a rule stands: the form `file:line` is one that editors and terminals turn into a link.
package struct RulePlace: Hashable, Sendable, CustomStringConvertible {
    /// The file's name as it was given.
    package let file: String
    /// From 1.
    package let line: Int

    package var description: String { "\(file):\(line)" }
}
