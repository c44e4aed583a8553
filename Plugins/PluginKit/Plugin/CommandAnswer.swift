/// What came of an operator's command.
public struct CommandAnswer: Sendable, Hashable {
    /// Whether it did what was asked for.
    public var isGood: Bool
    /// For people or a program: what was asked for, or what is wrong and what was expected. Never a secret.
    public var text: String

    /// An answer to an operator's command; `text` is printed as it is.
    public init(isGood: Bool, text: String) {
        self.isGood = isGood
        self.text = text
    }
}
