import Nostr
import Notifications
import Registry
import Rules

/// What an event comes to for one account: which of its devices it wakes, and what with.
struct AddressingPlan {
    struct Target {
        let device: DeviceID
        let route: Route
        /// What the registration asked for, or the operator's default. The rule may be stricter.
        let mode: Mode
        let language: LanguageTag?
        /// Whether its transport seals what only the device may read, and so gets the whole.
        let isSealedByTransport: Bool
        let renderer: Renderer
        /// Those that are asked for the device.
        let filters: FilterSelection
        /// At what pace the device is woken; nil: whenever there is something.
        let pace: Pace?
    }

    /// Why one device, or all of which nothing else is said, is not woken.
    struct Exception {
        let step: PipelineStep
        var reason = ""
        var device: DeviceID?
    }

    let account: PublicKey
    /// Nil when the event does not concern the account.
    var concern: EventConcern?
    /// When telling it makes no sense any more (NIP-40), in milliseconds since 1970; 0: never.
    var expiresAt: Int64 = 0
    var targets: [Target] = []
    /// Why it wakes nobody, or which devices it does not.
    var exceptions: [Exception] = []
    /// Whether any device of the account may want to know what the event is to it.
    var isOfInterest = true
    /// The account, if rules ask whom it follows and no contact list of it is known.
    var unknownFollower: PublicKey?

    static func nobody(_ step: PipelineStep, of account: PublicKey, reason: String = "") -> AddressingPlan {
        AddressingPlan(account: account, exceptions: [Exception(step: step, reason: reason)])
    }

    /// What the notifications would lack that is worth seeking, and what may change the plan itself.
    func missing(in context: inout EventContext, at now: Int64) -> ContextWants {
        guard var concern, isOfInterest || !targets.isEmpty else { return ContextWants() }
        if !isOfInterest { concern.openQuestion = nil }
        let needs = targets.reduce(into: RuleNeeds()) { $0.formUnion($1.renderer.rule.needs(in: $1.mode)) }
        var wants = context.missing(
            needs,
            of: concern,
            mentioning: targets.first?.renderer.facts.references ?? [],
            at: now
        )
        if let unknownFollower, context.isContactListWorthSeeking(unknownFollower, at: now) {
            wants.contactLists.insert(unknownFollower)
        }
        return wants
    }
}
