import Nostr
import Notifications
import Registry
import Rules
import Units

/// A verified event, and the accounts that it names.
struct AddressedEvent {
    let event: Event
    /// Each once.
    let accounts: [AccountNumber]
    let source: EventSource

    /// Whether it stands for a notification sent over the API.
    var isRequested: Bool {
        if case .api = source { true } else { false }
    }
}

extension [MatchHit] {
    /// So many are looked through, which is faster than a set: most events name one or two accounts.
    private static var fewAccounts: Int { 16 }

    /// The accounts whose concern an event of that kind is, each once, in the order in which they are named.
    func accounts(for kind: Kind) -> [AccountNumber] {
        guard !isEmpty else { return [] }
        var accounts: [AccountNumber] = []
        accounts.reserveCapacity(count)
        var seen: Set<AccountNumber> = []
        for hit in self where hit.counts(for: kind) {
            if accounts.count < Self.fewAccounts {
                guard !accounts.contains(hit.account) else { continue }
            } else {
                if seen.isEmpty { seen.formUnion(accounts) }
                guard seen.insert(hit.account).inserted else { continue }
            }
            accounts.append(hit.account)
        }
        return accounts
    }
}

/// A device of an account, as far as its notifications depend on that.
struct TargetDevice {
    let account: PublicKey
    let device: DeviceID
    let route: Route
    /// What the registration asked for, or the operator's default. The rule may be stricter.
    let mode: Mode
    let language: LanguageTag?
    /// Whether its transport seals what only the device may read, and so gets the whole notification.
    let isSealedByTransport: Bool
}

/// What an event comes to for one account: which of its devices it wakes, and by which rule.
struct Plan {
    struct Target {
        let device: TargetDevice
        /// Renders the event by the rule that matched.
        let renderer: Renderer
        let preferences: DevicePreferences
    }

    /// Why one device, or all devices without another reason, are not woken.
    struct Exclusion {
        let step: PipelineStep
        var reason = ""
        var device: DeviceID?
    }

    let event: EventID
    let account: PublicKey
    /// Nil when the event does not concern the account.
    var relevance: Relevance?
    /// When the event expires (NIP-40); the epoch: never.
    var expiresAt = Timestamp.epoch
    var targets: [Target] = []
    var exclusions: [Exclusion] = []
    /// Whether knowing more about the event could matter to any device of the account.
    var isOfInterest = true
    /// Whether rules ask for the account's follows and no contact list of it is known.
    var lacksContactList = false

    /// An event that wakes no device of an account.
    static func nobody(_ step: PipelineStep, _ event: EventID, of account: PublicKey, reason: String = "") -> Plan {
        Plan(event: event, account: account, exclusions: [Exclusion(step: step, reason: reason)])
    }

    /// What the plan or its notifications lack and is worth looking for.
    func missing(in context: inout EventContext, at now: Timestamp) -> ContextWants {
        guard var relevance, isOfInterest || !targets.isEmpty else { return ContextWants() }
        if !isOfInterest { relevance.openQuestion = nil }
        let needs = targets.reduce(into: RuleNeeds()) { $0.formUnion($1.renderer.rule.needs(in: $1.device.mode)) }
        var wants = context.missing(
            needs,
            of: relevance,
            mentioning: targets.first?.renderer.facts.references ?? [],
            at: now
        )
        if lacksContactList, context.isWorthSeeking(.contactList(account), at: now) {
            wants.contactLists.insert(account)
        }
        return wants
    }
}
