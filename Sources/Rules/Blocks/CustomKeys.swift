import YAMLReading

/// What an app gets beside what is shown: the keys of seed 000 that tell which event this is about, and a rule's own `data`.
struct CustomKeys: Sendable {
    /// The notification's own keys on all platforms, which `data` may not replace.
    static let reserved = [
        "aps", "t", "n", "id", "title", "subtitle", "body", "category", "thread", "url", "actions", "sealed",
    ]

    private let own: JSONTemplate?
    /// Whether seed 000's keys are there, which tell of the event that this one refers to, too.
    let saysEvent: Bool

    /// None.
    init() {
        own = nil
        saysEvent = false
    }

    /// `isAboutEvent`: there is an event, of which seed 000's keys may tell.
    init(reading rule: YAMLMapping, isAboutEvent: Bool = true) {
        saysEvent = isAboutEvent && rule["event_data"]?.bool() ?? true
        guard let data = rule["data"], let members = data.mapping()?.members else {
            own = nil
            return
        }
        for (key, value) in members {
            if key == "aps" {
                value.mistake("Apple's own keys belong into 'apns'")
            } else if Self.reserved.contains(key) {
                value.mistake(
                    "'\(key)' is a key of the notification itself, which 'data' cannot replace; name it otherwise"
                )
            } else if saysEvent, EventData.keys.contains(key) {
                value.mistake("the event's own keys say '\(key)' already; 'event_data: false' leaves them out")
            }
        }
        own = members.isEmpty ? nil : JSONTemplate(free: data)
    }

    var variables: Set<String> { own?.variables ?? [] }

    /// A JSON object, or nothing when there is none. Notes in `rendering` what is left out.
    func render(_ input: RuleInput, _ values: TemplateValues, now: Int64, into rendering: inout Rendering) -> String {
        let event = saysEvent ? EventData(input).json : ""
        var omitted = OmittedPaths()
        let own = own?.render(values, now: now, omitted: &omitted)
        rendering.leaveOut(omitted, of: "data")
        guard let own, own != "{}" else { return event }
        guard !event.isEmpty, event != "{}" else { return own }
        return event.dropLast() + "," + own.dropFirst()
    }

    /// The same where there is no event, and nothing of a stranger's that could come out unfit.
    func render(_ values: TemplateValues, now: Int64) -> String {
        var omitted = OmittedPaths()
        guard let own = own?.render(values, now: now, omitted: &omitted), own != "{}" else { return "" }
        return own
    }
}
