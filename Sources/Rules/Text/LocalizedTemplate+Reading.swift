import Notifications
import YAMLReading

extension LocalizedTemplate {
    /// Reads a text, or a map of texts by language tag with a `default` among them.
    init?(_ value: YAMLValue) {
        guard value.isMapping else {
            guard let template = Template.read(value) else { return nil }
            self.init(fallback: template)
            return
        }
        guard let map = value.mapping(),
            let fallback = map.require("default", "the text for every other language").map(Template.read)
        else { return nil }
        self.init(fallback: fallback ?? .empty)
        for (key, text) in map.members where key != "default" {
            guard let tag = LanguageTag(key) else {
                text.mistake("expected 'default' or a language tag such as de or pt-BR in place of '\(key.prefix(40))'")
                continue
            }
            guard let template = Template.read(text) else { continue }
            if translations.updateValue(template, forKey: tag) != nil {
                text.mistake("there is more than one text for \(tag)")
            }
        }
    }
}
