import Notifications

extension RuleBook {
    /// The languages that conditions name and that any text is written in; a default's is not known.
    static func languages(
        of rules: [Rule],
        _ summary: RuleTexts,
        _ nudge: RuleTexts,
        _ further: [LanguageTag]
    ) -> [LanguageTag] {
        let all = rules.reduce(into: summary.languages.union(nudge.languages).union(further)) {
            $0.formUnion($1.texts.languages)
            $0.formUnion($1.match.languages ?? [])
        }
        return all.sorted { $0.description < $1.description }
    }
}
