import Notifications

extension RuleBook {
    /// The languages that conditions name and that any text is written in; a default's is not known.
    static func languages(of rules: [Rule], _ summary: SummaryTexts, _ nudge: NeutralTemplates) -> [LanguageTag] {
        let common = [summary.title, summary.body, nudge.title, nudge.body].flatMap(\.translations.keys)
        let all = rules.reduce(into: Set(common)) {
            $0.formUnion($1.texts.languages)
            $0.formUnion($1.match.languages ?? [])
        }
        return all.sorted { $0.description < $1.description }
    }
}
