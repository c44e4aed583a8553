import Core
import Nostr
import Push
import Registry
import Rules

/// A verified event, and the accounts that it names.
struct AddressedEvent {
    let event: Event
    /// Without duplicates.
    let accounts: [AccountNumber]
    let source: EventSource

    /// Whether it represents a notification sent over the API.
    var isRequested: Bool {
        if case .api = source { true } else { false }
    }
}

extension [MatchHit] {
    /// Up to this number, searching the array is faster than a set: most events name one or two accounts.
    private static var fewAccounts: Int { 16 }

    /// The accounts that an event of that kind concerns, without duplicates, in the order in which they are named.
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

/// The properties of an account's device that affect its notifications.
struct TargetDevice {
    let account: PublicKey
    let device: DeviceID
    let route: Route
    /// The mode of the registration, or the operator's default. The rule may be stricter.
    let mode: Mode
    let language: LanguageTag?
    /// Whether its transport seals notifications itself, and so gets the whole notification.
    let isSealedByTransport: Bool
}

/// The plan of an event for one account: the devices that it notifies, and the rules for that.
struct Plan {
    struct Target {
        let device: TargetDevice
        /// Renders the event by the rule that matched.
        let renderer: Renderer
        let preferences: DevicePreferences
    }

    /// The reason why one device, or all devices without another reason, get no notification.
    struct Exclusion {
        let step: PipelineStep
        var reason = ""
        var device: DeviceID?
    }

    let event: EventID
    let account: PublicKey
    /// Nil when the event does not concern the account.
    var relevance: Relevance?
    var targets: [Target] = []
    var exclusions: [Exclusion] = []
    /// Whether more context of the event could matter to any device of the account.
    var isOfInterest = true
    /// Whether rules use the account's follows and its contact list is not known.
    var lacksContactList = false

    /// A plan that notifies no device of an account.
    static func nobody(_ step: PipelineStep, _ event: EventID, of account: PublicKey, reason: String = "") -> Plan {
        Plan(event: event, account: account, exclusions: [Exclusion(step: step, reason: reason)])
    }

    /// Excludes a device.
    mutating func exclude(_ device: DeviceID, _ step: PipelineStep, reason: String = "") {
        exclusions.append(Exclusion(step: step, reason: reason, device: device))
    }

    /// The missing context of the plan and its notifications that should be fetched.
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

/// The decisions of the rules about an event for one recipient. Rules run once for each kind of device that they
/// distinguish.
struct DeviceDecisions {
    enum Decision {
        case notify(Renderer)
        /// No such device is notified. `isNew` is whether the decision was made just now.
        case nobody(PipelineStep, reason: String, isNew: Bool)
    }

    /// The properties of a device that may matter to rules.
    private struct Asked: Equatable {
        let language: LanguageTag?
        let platform: String
        let app: String
    }

    private var question: RuleQuestion
    private let recipient: PublicKey
    private let relevance: Relevance
    private let renderers: EventRenderers
    /// Usually one or a few entries.
    private var known: [(asked: Asked, decision: Decision)] = []

    init(
        _ question: RuleQuestion,
        recipient: PublicKey,
        _ relevance: Relevance,
        _ renderers: EventRenderers
    ) {
        self.question = question
        self.recipient = recipient
        self.relevance = relevance
        self.renderers = renderers
    }

    /// `rules` must be the same each time. A book is too large to store it here for each recipient of an event.
    mutating func decision(by rules: RuleBook, for language: LanguageTag?, _ route: Route) -> Decision {
        let asked = Asked(
            language: rules.asksForLanguage ? language : nil,
            platform: rules.asksForPlatform ? route.platform : "",
            app: rules.asksForApp ? route.app : ""
        )
        if let decision = known.first(where: { $0.asked == asked })?.decision { return decision }
        let (first, then) = decide(for: asked, by: rules)
        known.append((asked, then))
        return first
    }

    private mutating func decide(for asked: Asked, by rules: RuleBook) -> (first: Decision, then: Decision) {
        (question.language, question.platform, question.app) = (asked.language, asked.platform, asked.app)
        switch rules.decide(question) {
        case .unmatched: return nobody(.unmatched)
        case .drop(let rule): return nobody(.dropped, reason: rule.name)
        case .notify(let rule, let signal):
            let renderer = renderers.renderer(rule, signal, for: recipient, relevance)
            return (.notify(renderer), .notify(renderer))
        }
    }

    private func nobody(_ step: PipelineStep, reason: String = "") -> (first: Decision, then: Decision) {
        (.nobody(step, reason: reason, isNew: true), .nobody(step, reason: reason, isNew: false))
    }
}
