import YAMLReading

extension NeutralTemplates {
    /// Reads `nudge: { title: …, body: … }`.
    init(_ value: YAMLValue) {
        let map = value.mapping(keys: ["title", "body"])
        self.init(
            title: map?["title"].flatMap { LocalizedTemplate($0, speakingOf: .batch) },
            body: map?["body"].flatMap { LocalizedTemplate($0, in: .paragraph, speakingOf: .batch) } ?? .empty
        )
    }
}
