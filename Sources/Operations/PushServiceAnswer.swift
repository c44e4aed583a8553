/// What came of asking a push service for something that is no delivery.
package struct PushServiceAnswer: Sendable, Hashable {
    package var isGood: Bool
    /// What was asked for, or what is wrong and what was expected.
    package var text: String

    static func refused(_ text: String) -> PushServiceAnswer {
        PushServiceAnswer(isGood: false, text: text)
    }
}
