import Notifications

extension RuleBook {
    /// The languages that any text is written in; a default's is not known.
    var textLanguages: Set<LanguageTag> {
        let common = [summary.title, summary.body, nudge.title, nudge.body].flatMap(\.translations.keys)
        return rules.reduce(into: Set(common)) { $0.formUnion($1.texts.languages) }
    }
}
