import YAMLReading

extension Template {
    /// The template that `value` holds; nil, with a mistake noted, when it holds none.
    static func read(_ value: YAMLValue) -> Template? {
        guard let text = value.string() else { return nil }
        do {
            return try Template(text)
        } catch {
            value.mistake(error.message)
            return nil
        }
    }
}
