import YAMLReading

extension NeutralTemplates {
    /// Reads `nudge: { title: …, body: … }`. Without a title it is the standard one.
    init(_ value: YAMLValue) {
        self = .standard
        guard let map = value.mapping(keys: ["title", "body"]) else { return }
        if let title = map["title"].flatMap({ LocalizedTemplate($0, speakingOf: .batch) }) { self.title = title }
        if let body = map["body"].flatMap({ LocalizedTemplate($0, in: .paragraph, speakingOf: .batch) }) {
            self.body = body
        }
    }
}
