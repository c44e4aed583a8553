import YAMLReading

/// What no single key of an `apns` block shows to be wrong: Apple refuses, delays or drops a push whose type does not fit its
/// payload.
struct APNsBlockChecks {
    private let block: YAMLMapping
    private let rule: YAMLMapping
    private let categories: ButtonCategories
    private let activity: LiveActivityChecks

    init(_ block: YAMLMapping, of rule: YAMLMapping, categories: ButtonCategories) {
        self.block = block
        self.rule = rule
        self.categories = categories
        activity = LiveActivityChecks(block, hasTexts: Self.hasTexts(rule))
    }

    /// Notes every contradiction as a mistake.
    func check() {
        checkType()
        checkPriority()
        checkAlert()
        checkMutableContent()
        checkContentChanged()
        if type != .liveActivity, let score = block["relevance-score"], let number = score.number,
            !(0...1).contains(number)
        {
            score.mistake("expected a number from 0 to 1; only Live Activities take others")
        }
        categories.check(block["category"], actions: block["actions"])
    }

    /// `template`, which was read from this block, with the limits on variables that ``check()`` puts on literals.
    func bounding(_ template: JSONTemplate) -> JSONTemplate {
        template.changing("relevance-score") { score in
            guard case .number(let score, _) = score, type != .liveActivity else { return score }
            return .number(score, in: 0...1)
        }
        .changing("category") { category in
            guard case .text(let category, _) = category else { return category }
            return .choice(category, of: categories.known)
        }
    }

    private static func hasTexts(_ rule: YAMLMapping) -> Bool {
        ["title", "subtitle", "body"].contains { rule[$0] != nil }
    }

    private var statedType: APNsPushType? { block["push-type"]?.literal.flatMap(APNsPushType.init) }

    private var hasAlert: Bool { block["alert"] != nil || Self.hasTexts(rule) }

    private var isVisible: Bool { hasAlert || block["badge"] != nil || block["sound"] != nil }

    private var type: APNsPushType { APNsPushType(of: block, hasTexts: Self.hasTexts(rule)) }

    private func checkType() {
        switch type {
        case .liveActivity: activity.check(at: block["push-type"] ?? block.value)
        default: activity.refuse(statedType?.rawValue)
        }
        guard let statedType, let place = block["push-type"] else { return }
        switch statedType {
        case .alert:
            if !isVisible {
                place.mistake("an alert shows something: expected an alert, a badge, a sound or the rule's texts")
            }
        case .background:
            for key in ["alert", "badge", "sound"] {
                block[key]?.mistake("a background push neither shows nor plays anything; 'push-type: alert' does")
            }
            // What the app has itself goes into the block's alert.
            for key in ["title", "subtitle", "body"] {
                guard let text = rule[key], text.isMapping else { continue }
                text.mapping()?["loc-key"]?.mistake("the rule's background push shows nothing: 'push-type: alert' does")
            }
            if block["content-available"]?.isOn == false {
                block["content-available"]?.mistake("a background push has 1 here")
            }
        default: break
        }
    }

    private func checkPriority() {
        guard let priority = block["priority"], case .whole(let number) = priority.scalar() else { return }
        switch type {
        case .background where number != 5: priority.mistake("Apple takes background pushes with priority 5 only")
        case .liveActivity where number == 1: priority.mistake("Apple takes Live Activities with priority 5 or 10 only")
        case .pushToTalk where number != 10: priority.mistake("Apple wants push-to-talk with priority 10 only")
        default: break
        }
    }

    private func checkContentChanged() {
        guard let changed = block["content-changed"] else { return }
        if type != .widgets, type != .controls {
            changed.mistake("only 'push-type: widgets' and 'push-type: controls' have this")
        } else if changed.isOn == false {
            changed.mistake("'push-type: \(type.rawValue)' has true here")
        }
    }

    private func checkAlert() {
        guard let alert = block["alert"], alert.isMapping, let members = alert.mapping() else { return }
        for (arguments, key) in ["title-loc-args", "subtitle-loc-args", "loc-args"].map({ ($0, $0.dropLast(4) + "key") }
        )
        where members[String(key)] == nil {
            members[arguments]?.mistake("'\(key)' is missing: which of the app's texts these go into")
        }
        guard type != .liveActivity else { return }
        members["sound"]?.mistake("only Live Activities have their sound here; it belongs beside 'alert'")
        for key in ["title", "body"] where members[key]?.isMapping == true {
            members[key]?.mistake(
                "only Live Activities have a dictionary here; there is \(key == "title" ? "title-" : "")loc-key"
            )
        }
    }

    private func checkMutableContent() {
        guard let mutable = block["mutable-content"] else { return }
        if mutable.isOn == true, !hasAlert || statedType == .background {
            mutable.mistake("only an alert can be changed before it is shown: expected an alert or the rule's texts")
        }
        if mutable.isOn == false, rule["actions"] != nil {
            mutable.mistake(
                "the rule's buttons are made by the app's notification service extension, which needs 1 here"
            )
        }
    }
}
