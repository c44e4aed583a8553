import YAMLReading

extension RuleBook.SummaryTexts {
    private static let defaultTitle = LocalizedTemplate(
        fallback: (try? Template("{{count}} new notifications", speakingOf: .batch)) ?? .empty
    )

    /// What a batch says where no file has a summary.
    init() {
        self.init(title: Self.defaultTitle, body: .empty)
    }

    init?(_ value: YAMLValue) {
        guard let summary = value.mapping(keys: ["title", "body"]) else { return nil }
        self.init(
            title: summary["title"].flatMap { LocalizedTemplate($0, speakingOf: .batch) } ?? Self.defaultTitle,
            body: summary["body"].flatMap { LocalizedTemplate($0, in: .paragraph, speakingOf: .batch) } ?? .empty
        )
    }
}
