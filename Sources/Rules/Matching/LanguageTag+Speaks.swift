import Notifications

extension LanguageTag {
    /// Whether texts in `other` are for people of this language: it is the same, or one of ``fallbacks``. Makes no list of them.
    func speaks(_ other: LanguageTag) -> Bool {
        let (mine, theirs) = (description.utf8, other.description.utf8)
        guard mine.starts(with: theirs) else { return false }
        return mine.count == theirs.count || mine.dropFirst(theirs.count).first == UInt8(ascii: "-")
    }
}
