import YAMLReading

extension Template {
    /// The template that `value` holds; nil, with a mistake noted, when it holds none.
    static func read(
        _ value: YAMLValue,
        in place: TextPlace = .line,
        speakingOf vocabulary: TemplateVocabulary = .event
    ) -> Template? {
        guard let text = value.string() else { return nil }
        do {
            return try Template(text, in: place, speakingOf: vocabulary)
        } catch {
            value.mistake(error.message)
            return nil
        }
    }
}
