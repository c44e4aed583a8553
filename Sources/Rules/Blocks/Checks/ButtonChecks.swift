import YAMLReading

/// What seed 002 asks of a rule's buttons beyond each one's keys.
enum ButtonChecks {
    /// Notes ids that are given twice, and URLs that are none; what only shows when variables are put in is not checked here.
    static func check(_ rule: YAMLMapping) {
        rule["url"].map(checkURL)
        guard let actions = rule["actions"], actions.isList else { return }
        var ids: Set<String> = []
        for action in actions.list() ?? [] where action.isMapping {
            guard let action = action.mapping() else { continue }
            action["url"].map(checkURL)
            for key in ["id", "label"] where action[key]?.literal == "" {
                action[key]?.mistake("expected a text that is not empty")
            }
            checkIcon(action["icon"])
            guard let id = action["id"], let text = id.literal, !text.isEmpty else { continue }
            if !ids.insert(text).inserted { id.mistake("'\(text.prefix(64))' is the id of another button, too") }
        }
    }

    /// Seed 002, "Icons Not Showing".
    private static func checkIcon(_ icon: YAMLValue?) {
        guard let icon, (icon.literal ?? icon.literalBeginning)?.hasPrefix("SFSymbol.") ?? false else { return }
        icon.mistake("expected the symbol's name alone, such as cart.fill, without 'SFSymbol.'")
    }

    private static func checkURL(_ value: YAMLValue) {
        if let url = value.literal {
            if !url.isEmpty, !AbsoluteURL.isOne(url) { value.mistake(AbsoluteURL.expectation) }
        } else if let beginning = value.literalBeginning, AbsoluteURL.scheme(of: beginning) == nil {
            value.mistake(AbsoluteURL.expectation)
        }
    }
}
