import Notifications

extension LanguageTag {
    /// Whether texts in `other` are for people of this language: it is the same, or one of ``fallbacks``.
    func speaks(_ other: LanguageTag) -> Bool {
        self == other || fallbacks.contains(other)
    }
}
