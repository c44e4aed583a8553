import Nostr
import Notifications
import Registry
import Rules

/// What an event comes to for one account: which of its devices it wakes, and what with.
struct AddressingPlan {
    struct Target {
        let device: DeviceID
        let route: Route
        let mode: Mode
    }

    /// Nil when the event does not concern the account.
    var concern: EventConcern?
    /// Nil when it wakes nobody, whoever wants what.
    var renderer: Renderer?
    var targets: [Target] = []
    /// Why it wakes nobody, or which devices it does not.
    var exceptions: [(step: PipelineStep, reason: String)] = []
    /// Whether any device of the account may want to know what the event is to it.
    var isOfInterest = true

    static func nobody(_ step: PipelineStep, reason: String = "", concern: EventConcern? = nil) -> AddressingPlan {
        AddressingPlan(concern: concern, exceptions: [(step, reason)])
    }

    /// What the notifications would lack that is worth seeking, and what may change the plan itself.
    func missing(in context: inout EventContext, at now: Int64) -> ContextWants {
        guard var concern, isOfInterest || !targets.isEmpty else { return ContextWants() }
        if !isOfInterest { concern.openQuestion = nil }
        let needs = targets.reduce(into: RuleNeeds()) { needs, target in
            if let rule = renderer?.rule { needs.formUnion(rule.needs(in: target.mode)) }
        }
        return context.missing(needs, of: concern, at: now)
    }
}
