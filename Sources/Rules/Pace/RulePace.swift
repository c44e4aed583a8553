import Notifications
import YAMLReading

/// How the pushes of one rule wait: its `pace` and `key`, and what its pushes are on each platform.
struct RulePace: Sendable {
    /// The keys of a rule that are read here.
    static let keys = ["pace", "key"]

    /// What belongs together where only the latest counts. Empty: everything of the same type, or of the rule.
    let key: Template
    private let pushes: [String: PacedPush]
    /// On platforms without a table.
    private let others: PacedPush

    init(reading rule: YAMLMapping) {
        // In mode nudge it shows the file's neutral text instead of its own.
        let hasTexts =
            ["title", "subtitle", "body"].contains { rule[$0] != nil } || rule["mode"]?.literal == Mode.nudge.name
        let stated = rule["pace"]?.choice(PushPace.allCases.map(\.rawValue)).flatMap(PushPace.init)
        var pushes: [String: PacedPush] = [:]
        for platform in PlatformKey.all {
            let block = rule[platform.name].flatMap { $0.isMapping ? $0.mapping() : nil }
            pushes[platform.platform] = platform.pushes.push(block, hasTexts).paced(stated)
        }
        self.pushes = pushes
        others = PushTable.ofTexts.push(nil, hasTexts).paced(stated)
        key = rule["key"].flatMap { Template.read($0, in: .identifier) } ?? .empty
        if let key = rule["key"], !pushes.values.contains(where: { $0.pace == .latest || $0.nature == .special }) {
            key.mistake("'pace: latest' is missing: 'key' says which pushes replace each other")
        }
    }

    /// What the rule's push is to a device of `platform` that is told no more than `mode` allows.
    func push(on platform: String, in mode: Mode) -> PacedPush {
        let push = pushes[platform] ?? others
        return mode == .wake ? push.wakeUp : push
    }
}

extension Rule {
    /// What pacing has to know of this rule's push to a device of `platform` in `mode`.
    package func push(on platform: String, in mode: Mode) -> PacedPush {
        pace.push(on: platform, in: min(mode, self.mode))
    }

    /// What belongs together of what this rule says of `input`: pushes of one type that have the same here replace each
    /// other.
    package func paceKey(of push: PacedPush, _ input: RuleInput, now: Int64) -> String {
        let key = pace.key.render(TemplateValues(input, now: now, mentions: mentions))
        // Alerts of two rules say different things. A device has one Live Activity, one widget state and one sync.
        return push.type + "\n" + (key.isEmpty && push.nature == .alert ? name : key)
    }
}
