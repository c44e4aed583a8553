import YAMLReading

/// What a rule puts into payloads besides its texts, and how long they last.
struct RulePayload: Sendable {
    /// The keys of a rule that are read here.
    static let keys = ["data", "event_data", "expires"] + PlatformKey.all.map(\.name) + ["native"]

    let blocks: PlatformBlocks
    let customKeys: CustomKeys
    let lifetime: Lifetime
    /// The variables that its templates may put in or ask for, by their whole names.
    let variables: Set<String>

    /// Reads these keys, and checks the buttons and URLs that they have to fit.
    init(reading rule: YAMLMapping, categories: ButtonCategories) {
        ButtonChecks.check(rule)
        blocks = PlatformBlocks(reading: rule, categories: categories)
        customKeys = CustomKeys(reading: rule)
        lifetime = Lifetime(reading: rule)
        variables = blocks.variables.union(customKeys.variables)
    }
}
