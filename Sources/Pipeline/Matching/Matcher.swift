import Nostr
import Notifications
import Registry
import Rules
import Storage
import Units

/// The matching stage: finds what a verified event is to each account that it names, and by which rule it wakes which
/// of the account's devices.
///
/// No device is woken by what its account did itself, by an event that has expired, or by one from before its first
/// registration. Only gift wraps count whatever their dates, since they are dated back. Senders' clocks differ, so a
/// live event may be dated some minutes ago (``EventSource/clockTolerance``).
struct Matcher {
    private let registry: Registry
    private var rules: RuleBook
    private var defaultMode: Mode
    private var encryptingPlatforms: Set<String>
    private var showingPlatforms: Set<String>
    private var follows: Follows

    /// `feed`: the accounts that this is about; nil: all.
    init(
        settings: PipelineSettings,
        registry: Registry,
        feed: IndexFeed?,
        trouble: FailureLog,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.registry = registry
        follows = Follows(registry: registry, feed: feed, trouble: trouble, now: now)
        rules = settings.rules
        defaultMode = settings.defaultMode
        encryptingPlatforms = settings.encryptingPlatforms
        showingPlatforms = settings.showingPlatforms
    }

    mutating func adopt(_ settings: PipelineSettings) {
        rules = settings.rules
        defaultMode = settings.defaultMode
        encryptingPlatforms = settings.encryptingPlatforms
        showingPlatforms = settings.showingPlatforms
    }

    /// What an event comes to for each account that it names. Throws when the registry cannot be read.
    mutating func plan(
        _ addressed: AddressedEvent,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        at now: Timestamp
    ) throws -> [Plan] {
        let event = addressed.event
        if case .api(let order) = addressed.source { return plan(order, addressed, in: index) }
        let newSince = now - addressed.source.clockTolerance
        let newFollows = try contactList(addressed, in: index).map { list in
            try follows.new(in: list, seen: addressed.source.contactListSighting)
        }
        let reading = EventReading(event)
        let facts = EventFacts(event)
        let renderers = EventRenderers(of: facts)
        let expiresAt = event.expiresAt
        let root = event.value(of: "root_identity").flatMap { PublicKey(hex: $0) }
        let source = addressed.source
        let message = index.signals[.dm]
        var plans: [Plan] = []
        plans.reserveCapacity(addressed.accounts.count)
        for account in addressed.accounts {
            guard let key = index.key(of: account) else { continue }
            if try isOwn(event, speakingFor: root, of: key, from: source, in: index) {
                plans.append(.nobody(.own, event.id, of: key))
                continue
            }
            if let newFollows, !newFollows.contains(key) {
                plans.append(.nobody(.knownFollow, event.id, of: key))
                continue
            }
            try plan(
                facts,
                reading,
                renderers,
                for: account,
                key,
                newSince: newSince,
                expiresAt: expiresAt,
                message,
                in: index,
                &context,
                into: &plans
            )
        }
        return plans
    }

    /// A device as it is registered now; nil when it no longer is.
    func target(_ device: DeviceID, of account: PublicKey, in index: borrowing MatchIndex) -> TargetDevice? {
        guard let entry = index.device(device, of: account), let route = index.route(entry.route) else { return nil }
        return target(entry, of: account, route, index.languages[entry.language])
    }

    // MARK: Contact lists

    /// A contact list was routed: naming the same accounts again is no new follow.
    mutating func remember(_ addressed: AddressedEvent, in index: borrowing MatchIndex) {
        if let list = contactList(addressed, in: index) { follows.add(list) }
    }

    /// Remembers a contact list that was there before anybody listened. False where the event is none. Throws when
    /// earlier ones cannot be written.
    mutating func rememberBaseline(_ addressed: AddressedEvent, in index: borrowing MatchIndex) throws -> Bool {
        guard let list = contactList(addressed, in: index) else { return false }
        try follows.catchUp()
        follows.add(list)
        return true
    }

    /// The batch is kept, or not. False when the disk does not have its contact lists.
    mutating func conclude(isKept: Bool) -> Bool { follows.conclude(isKept: isKept) }

    private func contactList(_ addressed: AddressedEvent, in index: borrowing MatchIndex) -> ContactList? {
        let event = addressed.event
        guard event.kind == .contactList else { return nil }
        var named: [PublicKey] = []
        for account in addressed.accounts {
            if let key = index.key(of: account) { named.append(key) }
        }
        return ContactList(author: event.pubkey, named: named, createdAt: event.createdAt)
    }

    // MARK: One account

    /// Adds what an event, which rules know by its `facts` and which is read as `reading`, comes to for an account that
    /// it names. It is news to a device that was registered later if it is dated `newSince` or later. `message` is the
    /// signal of direct messages.
    private func plan(
        _ facts: EventFacts,
        _ reading: EventReading,
        _ renderers: EventRenderers,
        for account: AccountNumber,
        _ key: PublicKey,
        newSince: Timestamp,
        expiresAt: Timestamp,
        _ message: SignalSet,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        into plans: inout [Plan]
    ) throws {
        let event = facts.event.id
        let relevance: Relevance
        do {
            relevance = try reading.relevance(to: key) { context.authors(of: $0) }
        } catch {
            var nobody = Plan.nobody(error.step, event, of: key, reason: error.description)
            nobody.expiresAt = expiresAt
            return plans.append(nobody)
        }
        if let zap = relevance.zap, try registry.speaks(zap.sender, for: key) {
            return plans.append(.nobody(.own, event, of: key))
        }
        var question = RuleQuestion(
            facts: facts,
            author: relevance.author,
            recipient: key,
            relation: relevance.relation,
            signal: relevance.signal,
            zapMillisats: relevance.zap?.millisats
        )
        if rules.asksForFollows { question.isAuthorFollowed = try registry.isFollowed(relevance.author, by: key) }
        // In its place among the others, since a plan is large.
        let place = plans.count
        plans.append(
            Plan(
                event: event,
                account: key,
                relevance: relevance,
                expiresAt: expiresAt,
                isOfInterest: false,
                lacksContactList: rules.asksForFollows && question.isAuthorFollowed == nil
            )
        )
        var rulings = Rulings(consume question, recipient: key, relevance, renderers)
        index.forEachDevice(of: account) { device in
            guard let route = index.route(device.route) else { return }
            let language = index.languages[device.language]
            let renderer: Renderer
            switch rulings.ruling(by: rules, for: language, route) {
            case .notify(let by): renderer = by
            case .nobody(let step, let reason, let isNew):
                // Another language, or what is not known yet, may change that.
                plans[place].isOfInterest = true
                if isNew { plans[place].exclusions.append(Plan.Exclusion(step: step, reason: reason)) }
                return
            }
            guard facts.event.isNew(to: device, orSince: newSince) else {
                plans[place].exclusions.append(Plan.Exclusion(step: .beforeRegistration, device: device.device))
                return
            }
            if !device.signals.subtracting(message).isEmpty { plans[place].isOfInterest = true }
            guard !device.signals.isDisjoint(with: renderer.signals(of: index.signals)) else {
                plans[place].exclusions.append(
                    Plan.Exclusion(step: .unwanted, reason: renderer.signal.rawValue, device: device.device)
                )
                return
            }
            if showingPlatforms.contains(route.platform), renderer.rule.isSilent(on: route.platform) {
                plans[place].exclusions.append(
                    Plan.Exclusion(step: .silent, reason: route.platform, device: device.device)
                )
                return
            }
            plans[place].targets.append(
                Plan.Target(
                    device: target(device, of: key, route, language),
                    renderer: renderer,
                    preferences: index.preferences(of: device.device)
                )
            )
        }
    }

    // MARK: What somebody asked for

    /// What an order comes to for each account that its event names. Nothing has to be matched.
    private func plan(
        _ order: NotificationOrder,
        _ addressed: AddressedEvent,
        in index: borrowing MatchIndex
    ) -> [Plan] {
        let event = addressed.event
        let renderers = EventRenderers(of: EventFacts(event))
        var plans: [Plan] = []
        for account in addressed.accounts {
            guard let key = index.key(of: account) else { continue }
            let relevance = Relevance(signal: order.signal, author: event.pubkey)
            var plan = Plan(event: event.id, account: key, relevance: relevance, isOfInterest: false)
            plan.expiresAt = event.expiresAt
            index.forEachDevice(of: account) { device in
                guard let route = index.route(device.route),
                    order.includes(device.device, platform: route.platform, app: route.app)
                else { return }
                guard let rule = order.rule(of: rules[route.app]) else {
                    plan.exclusions.append(Plan.Exclusion(step: .unmatched, device: device.device))
                    return
                }
                let signal = order.signal ?? rule.signal ?? .notification
                guard signal == .notification || !device.signals.isDisjoint(with: index.signals[signal]) else {
                    plan.exclusions.append(
                        Plan.Exclusion(step: .unwanted, reason: signal.rawValue, device: device.device)
                    )
                    return
                }
                guard !showingPlatforms.contains(route.platform) || !rule.isSilent(on: route.platform) else {
                    plan.exclusions.append(
                        Plan.Exclusion(step: .silent, reason: route.platform, device: device.device)
                    )
                    return
                }
                // The index knows only the languages of the operator's rules.
                let ownLocale = rule.isTranslated ? try? registry.locale(of: device.device) : nil
                plan.targets.append(
                    Plan.Target(
                        device: target(device, of: key, route, ownLocale ?? index.languages[device.language]),
                        renderer: renderers.renderer(rule, signal, for: key, relevance),
                        preferences: index.preferences(of: device.device)
                    )
                )
            }
            plans.append(plan)
        }
        return plans
    }

    private func target(
        _ device: DeviceEntry,
        of account: PublicKey,
        _ route: Route,
        _ language: LanguageTag?
    ) -> TargetDevice {
        TargetDevice(
            account: account,
            device: device.device,
            route: route,
            mode: device.mode ?? defaultMode,
            language: language,
            isSealedByTransport: !device.hasSealingKey && encryptingPlatforms.contains(route.platform)
        )
    }

    /// Whether the account itself is behind an event. A gift wrap does not say who made it, and one goes to its author
    /// too (NIP-17): there a client that signed in on our socket is believed.
    private func isOwn(
        _ event: Event,
        speakingFor root: PublicKey?,
        of account: PublicKey,
        from source: EventSource,
        in index: borrowing MatchIndex
    ) throws -> Bool {
        if try registry.isOwn(event.pubkey, speakingFor: root, of: account, in: index) { return true }
        guard event.kind.isGiftWrap, case .socket(let authenticated, _) = source else { return false }
        return try authenticated.contains { try registry.speaks($0, for: account) }
    }
}

extension EventSource {
    fileprivate var contactListSighting: ContactListSighting {
        switch self {
        case .socket, .api: .direct
        case .feed, .relay(.live), .relay(.stored): .relay
        case .relay(.baseline), .relay(.fetched): .baseline
        }
    }
}

extension Event {
    /// When the event expires (NIP-40); the epoch: never.
    fileprivate var expiresAt: Timestamp {
        // A date before 1970 is over too.
        expiration.map { max(Timestamp(milliseconds: 1), Timestamp(seconds: $0)) } ?? .epoch
    }

    /// Whether the event happened since the device was registered, or since `moment`. Gift wraps do not say: they are
    /// dated back (NIP-59).
    fileprivate func isNew(to device: DeviceEntry, orSince moment: Timestamp) -> Bool {
        kind.isGiftWrap || createdAt >= min(device.firstRegisteredAt, moment).seconds
    }
}

extension Kind {
    /// Whether events of this kind are dated back and signed by a key made for each (NIP-59).
    var isGiftWrap: Bool { self == .giftWrap || self == .ephemeralGiftWrap }
}

extension NotificationOrder {
    /// Nil where the book has no such rule.
    fileprivate func rule(of book: RuleBook) -> Rule? {
        switch content {
        case .rule(let rule): rule
        case .template(let name): book.rule(named: name)
        }
    }
}
