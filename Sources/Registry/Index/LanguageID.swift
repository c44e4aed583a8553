/// Which of the languages that the rules speak is a device's; counts within one ``LanguageNames``.
package struct LanguageID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    /// None of them: what the rules say to everybody else.
    package static let none = LanguageID(rawValue: 0)
}
