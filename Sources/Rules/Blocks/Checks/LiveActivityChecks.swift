import YAMLReading

/// Which keys of an `apns` block a Live Activity needs and may have at the start, for updates and at the end.
struct LiveActivityChecks {
    private static let onlyAtStart = ["attributes-type", "attributes", "input-push-token", "input-push-channel"]

    /// Keys of `aps` that Live Activities do not have.
    private static let foreign = [
        "badge", "category", "actions", "_k", "thread-id", "content-available", "mutable-content", "target-content-id",
        "interruption-level", "filter-criteria", "url-args",
    ]
    /// Members of an alert that a Live Activity's alert does not have.
    private static let foreignToAlert = [
        "subtitle", "subtitle-loc-key", "subtitle-loc-args", "launch-image", "action-loc-key", "action", "summary-arg",
        "summary-arg-count",
    ]

    private let block: YAMLMapping
    private let hasTexts: Bool

    /// `hasTexts` says whether the rule itself says what is shown.
    init(_ block: YAMLMapping, hasTexts: Bool) {
        self.block = block
        self.hasTexts = hasTexts
    }

    /// Whether the block speaks of a Live Activity.
    var isOne: Bool { event != nil || block["content-state"] != nil }

    private var event: YAMLValue? { block["event"] ?? block["events"] }

    /// Notes what is missing or does not belong, at `place` where there is nothing to point at.
    func check(at place: YAMLValue) {
        guard isOne else {
            place.mistake("a Live Activity needs 'event' (start, update or end) and 'content-state'")
            return
        }
        let event = event?.literal ?? "update"
        if event != "end", block["content-state"] == nil {
            self.event?.mistake("'content-state' is missing: the Live Activity's new state")
        }
        if event == "start" {
            checkStart()
        } else {
            for key in Self.onlyAtStart {
                block[key]?.mistake("only 'event: start' has this")
            }
        }
        if event != "end" {
            block["dismissal-date"]?.mistake("only 'event: end' has this")
        }
        checkForeignKeys()
    }

    private func checkForeignKeys() {
        for key in Self.foreign { block[key]?.mistake("a Live Activity cannot carry this") }
        guard let alert = block["alert"], alert.isMapping, let members = alert.mapping() else { return }
        for key in Self.foreignToAlert { members[key]?.mistake("a Live Activity's alert cannot carry this") }
    }

    /// Notes each key that only Live Activities have, in a push of another type.
    func refuse(_ statedType: String?) {
        for key in BlockTable.liveActivity.flatMap({ [$0.name] + ($0.alias.map { [$0] } ?? []) }) {
            block[key]?.mistake(
                "only a Live Activity has this"
                    + (statedType.map { ", not 'push-type: \($0)'" } ?? "; 'event' (start, update or end) is missing")
            )
        }
    }

    private func checkStart() {
        for (key, purpose) in [
            ("attributes-type", "the type of what is started"), ("attributes", "the fixed content of what is started"),
        ] where block[key] == nil {
            event?.mistake("'\(key)' is missing: \(purpose)")
        }
        if block["alert"] == nil, !hasTexts {
            event?.mistake("'alert' is missing: what is shown when a Live Activity starts")
        }
    }
}
