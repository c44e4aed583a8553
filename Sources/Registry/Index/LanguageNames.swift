import Notifications

/// Which number stands for which language that the operator's rules speak.
///
/// A registration may name any language, so numbers are not handed out to what registrations name: a few of them could use
/// all numbers up.
package struct LanguageNames: Hashable, Sendable {
    /// How many languages are told apart; whose is none of them has none.
    package static let limit = 255

    private let languages: [LanguageTag]
    private let ids: [LanguageTag: LanguageID]

    /// Languages beyond ``limit`` are left out; `languages` may repeat itself.
    package init(_ languages: [LanguageTag] = []) {
        var ids: [LanguageTag: LanguageID] = [:]
        var told: [LanguageTag] = []
        for language in languages where told.count < Self.limit && ids[language] == nil {
            told.append(language)
            ids[language] = LanguageID(rawValue: UInt8(told.count))
        }
        self.languages = told
        self.ids = ids
    }

    package var isEmpty: Bool { languages.isEmpty }

    /// The language of that number; nil for ``LanguageID/none``.
    package subscript(id: LanguageID) -> LanguageTag? {
        languages.indices.contains(Int(id.rawValue) - 1) ? languages[Int(id.rawValue) - 1] : nil
    }

    /// The language for whoever speaks `locale`: the nearest one; of none the rules have another.
    package func best(for locale: LanguageTag?) -> LanguageID {
        locale?.nearest(among: ids.keys).flatMap { ids[$0] } ?? .none
    }
}
