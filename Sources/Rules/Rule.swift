import Notifications

/// What one kind of event becomes. A class, since each decision hands one out.
package final class Rule: Sendable {
    /// For traces and for `carillon rules try`.
    package let name: String
    /// Where it stands.
    package let place: RulePlace?
    let match: RuleMatch
    /// What the device's filters are asked about and what a wake-up carries; nil: what the match stage took the event for.
    let signal: Signal?
    /// Such events wake nobody.
    let drops: Bool
    /// The most a push service may see.
    package let mode: Mode
    package let urgency: Urgency
    let texts: RuleTexts
    let payload: RulePayload
    let pace: RulePace
    /// The rule book's, for what may not be seen.
    let nudge: NeutralTemplates

    init(
        name: String,
        place: RulePlace? = nil,
        match: RuleMatch,
        signal: Signal?,
        drops: Bool,
        mode: Mode,
        urgency: Urgency,
        texts: RuleTexts,
        payload: RulePayload,
        pace: RulePace,
        nudge: NeutralTemplates
    ) {
        self.name = name
        self.place = place
        self.match = match
        self.signal = signal
        self.drops = drops
        self.mode = mode
        self.urgency = urgency
        self.texts = texts
        self.payload = payload
        self.pace = pace
        self.nudge = nudge
    }

    /// What a notification in `mode` needs besides the event; what is not known when it goes out it goes without.
    package func needs(in mode: Mode) -> RuleNeeds {
        guard min(mode, self.mode) > .nudge else { return [] }
        func speaks(of variable: String) -> Bool {
            texts.speaksOf(variable) || payload.variables.contains(variable) || pace.key.variables.contains(variable)
        }
        var needs: RuleNeeds = []
        if speaks(of: "author.name") { needs.insert(.authorName) }
        // The event's own keys carry it, whatever the texts say.
        if payload.customKeys.saysEvent || speaks(of: "referenced.kind") || speaks(of: "referenced.content") {
            needs.insert(.referencedEvent)
        }
        return needs
    }
}
