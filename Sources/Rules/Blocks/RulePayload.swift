import YAMLReading

/// What a rule puts into payloads besides its texts, and how long they last.
struct RulePayload: Sendable {
    /// The keys of a rule that are read here.
    static let keys = ["data", "event_data", "expires"] + PlatformKey.all.map(\.name) + ["native"]

    var blocks: PlatformBlocks
    let customKeys: CustomKeys
    let lifetime: Lifetime
    /// The variables that its templates may put in or ask for, by their whole names.
    let variables: Set<String>

    /// Nothing besides.
    init() {
        blocks = PlatformBlocks([PlatformBlocks.Block]())
        customKeys = CustomKeys()
        lifetime = Lifetime()
        variables = []
    }

    /// Reads these keys, and checks the buttons and URLs that they have to fit. `isAboutEvent`: `rule` is a rule, and
    /// no text for several events.
    init(reading rule: YAMLMapping, categories: ButtonCategories, isAboutEvent: Bool = true) {
        ButtonChecks.check(rule)
        blocks = PlatformBlocks(reading: rule, categories: categories)
        customKeys = CustomKeys(reading: rule, isAboutEvent: isAboutEvent)
        lifetime = Lifetime(reading: rule)
        variables = blocks.variables.union(customKeys.variables)
    }
}
