import Core
import Nostr
import Push
import Registry
import Rules
import Storage

/// The matching stage: finds the relation of a verified event to each account that it names, and the rules and devices
/// for its notifications.
///
/// A device gets no notification about its account's own actions, about expired events, or about events from before its
/// first registration. Gift wraps are exempt from the last condition, because they are dated back. Senders' clocks
/// differ, so a live event may be dated some minutes ago (``EventSource/clockTolerance``).
struct Matcher {
    private let registry: Registry
    private var rules: RuleBook
    private var defaultMode: Mode
    private var encryptingPlatforms: Set<String>
    private var showingPlatforms: Set<String>
    var follows: Follows

    init(_ settings: PipelineSettings, _ registry: Registry, _ follows: Follows) {
        self.registry = registry
        self.follows = follows
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

    /// Makes a plan of an event for each account that it names. Throws if the registry cannot be read.
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
            try follows.new(in: list, seen: addressed.source.seenContactList)
        }
        let facts = EventFacts(event)
        let news = News(
            facts: facts,
            reading: EventReading(event),
            renderers: EventRenderers(of: facts),
            newSince: newSince,
            message: index.signals[.dm]
        )
        let root = event.value(of: "root_identity").flatMap { PublicKey(hex: $0) }
        var plans: [Plan] = []
        plans.reserveCapacity(addressed.accounts.count)
        for account in addressed.accounts {
            guard let key = index.key(of: account) else { continue }
            if try isOwn(event, speakingFor: root, of: key, from: addressed.source, in: index) {
                plans.append(.nobody(.own, event.id, of: key))
            } else if let newFollows, !newFollows.contains(key) {
                plans.append(.nobody(.knownFollow, event.id, of: key))
            } else {
                try plan(news, for: account, key, in: index, &context, into: &plans)
            }
        }
        return plans
    }

    /// Returns a device as it is registered now, or nil if it is no longer registered.
    func target(_ device: DeviceID, of account: PublicKey, in index: borrowing MatchIndex) -> TargetDevice? {
        guard let entry = index.device(device, of: account), let route = index.route(entry.route) else { return nil }
        return target(entry, of: account, route, index.languages[entry.language])
    }

    // MARK: Contact lists

    /// Remembers a routed contact list. If it names the same accounts again, they are not new follows.
    mutating func remember(_ addressed: AddressedEvent, in index: borrowing MatchIndex) {
        if let list = contactList(addressed, in: index) { follows.add(list) }
    }

    /// Remembers a contact list that predates the router's subscription. Returns false if the event is of another kind.
    /// Throws if earlier lists cannot be written.
    mutating func rememberBaseline(_ addressed: AddressedEvent, in index: borrowing MatchIndex) throws -> Bool {
        guard let list = contactList(addressed, in: index) else { return false }
        try follows.catchUp()
        follows.add(list)
        return true
    }

    private func contactList(_ addressed: AddressedEvent, in index: borrowing MatchIndex) -> ContactList? {
        let event = addressed.event
        guard event.kind == .contactList else { return nil }
        let named = index.keys(of: addressed.accounts)
        return ContactList(author: event.pubkey, named: named, createdAt: event.createdAt)
    }

    // MARK: One account

    /// The parts of an event that are the same for all accounts.
    private struct News {
        let facts: EventFacts
        let reading: EventReading
        let renderers: EventRenderers
        /// For devices that registered later, the event is new if it is dated at or after this time.
        let newSince: Timestamp
        /// The signal of direct messages.
        let message: SignalSet
    }

    /// Adds the plan of an event for an account that it names.
    private func plan(
        _ news: News,
        for account: AccountNumber,
        _ key: PublicKey,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        into plans: inout [Plan]
    ) throws {
        let event = news.facts.event.id
        let relevance: Relevance
        do {
            relevance = try news.reading.relevance(to: key) { context.authors(of: $0) }
        } catch {
            return plans.append(.nobody(error.step, event, of: key, reason: error.description))
        }
        if let zap = relevance.zap, try registry.speaks(zap.sender, for: key) {
            return plans.append(.nobody(.own, event, of: key))
        }
        let question = try question(news.facts, relevance, of: key)
        // Modified in the array, because a plan is large.
        let place = plans.count
        plans.append(
            Plan(
                event: event,
                account: key,
                relevance: relevance,
                isOfInterest: false,
                lacksContactList: rules.asksForFollows && question.isAuthorFollowed == nil
            )
        )
        var decisions = DeviceDecisions(consume question, recipient: key, relevance, news.renderers)
        index.forEachDevice(of: account) { device in
            guard let route = index.route(device.route) else { return }
            let language = index.languages[device.language]
            let renderer: Renderer
            switch decisions.decision(by: rules, for: language, route) {
            case .notify(let by): renderer = by
            case .nobody(let step, let reason, let isNew):
                // Another language, or context that is not known yet, may change that.
                plans[place].isOfInterest = true
                if isNew { plans[place].exclusions.append(Plan.Exclusion(step: step, reason: reason)) }
                return
            }
            guard news.facts.event.isNew(to: device, orSince: news.newSince) else {
                return plans[place].exclude(device.device, .beforeRegistration)
            }
            if !device.signals.subtracting(news.message).isEmpty { plans[place].isOfInterest = true }
            guard !device.signals.isDisjoint(with: renderer.signals(of: index.signals)) else {
                return plans[place].exclude(device.device, .unwanted, reason: renderer.signal.rawValue)
            }
            let preferences = index.preferences(of: device.device)
            add(target(device, of: key, route, language), renderer, preferences, to: &plans[place])
        }
    }

    private func question(_ facts: EventFacts, _ relevance: Relevance, of account: PublicKey) throws -> RuleQuestion {
        var question = RuleQuestion(
            facts: facts,
            author: relevance.author,
            recipient: account,
            relation: relevance.relation,
            signal: relevance.signal,
            zapMillisats: relevance.zap?.millisats
        )
        if rules.asksForFollows { question.isAuthorFollowed = try registry.isFollowed(relevance.author, by: account) }
        return question
    }

    /// Adds a device to a plan, unless the push shows nothing and the device's platform can only show notifications.
    private func add(
        _ device: TargetDevice,
        _ renderer: Renderer,
        _ preferences: DevicePreferences,
        to plan: inout Plan
    ) {
        let platform = device.route.platform
        if showingPlatforms.contains(platform), renderer.rule.isSilent(on: platform) {
            plan.exclude(device.device, .silent, reason: platform)
        } else {
            plan.targets.append(Plan.Target(device: device, renderer: renderer, preferences: preferences))
        }
    }

    // MARK: API requests

    /// Makes a plan of an API request for each account that its event names, without matching.
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
            index.forEachDevice(of: account) { device in
                guard let route = index.route(device.route),
                    order.includes(device.device, platform: route.platform, app: route.app)
                else { return }
                guard let rule = order.rule(of: rules[route.app]) else {
                    return plan.exclude(device.device, .unmatched)
                }
                let signal = order.signal ?? rule.signal ?? .notification
                guard signal == .notification || !device.signals.isDisjoint(with: index.signals[signal]) else {
                    return plan.exclude(device.device, .unwanted, reason: signal.rawValue)
                }
                // The index knows only languages that the rules use.
                let ownLocale = rule.isTranslated ? try? registry.locale(of: device.device) : nil
                add(
                    target(device, of: key, route, ownLocale ?? index.languages[device.language]),
                    renderers.renderer(rule, signal, for: key, relevance),
                    index.preferences(of: device.device),
                    to: &plan
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

    /// Whether the account itself is the author of an event. A gift wrap does not show its author, and one copy goes to
    /// the author too (NIP-17), so the router relies on the keys that the client authenticated on its socket.
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
    fileprivate var seenContactList: ContactListSource {
        switch self {
        case .socket, .api: .direct
        case .feed, .relay(.live), .relay(.stored): .relay
        case .relay(.baseline), .relay(.fetched): .baseline
        }
    }
}

extension Event {
    /// Whether the event was made after the device registered, or after `moment`. Always true for gift wraps, which are
    /// dated back (NIP-59).
    fileprivate func isNew(to device: DeviceEntry, orSince moment: Timestamp) -> Bool {
        kind.isGiftWrap || createdAt >= min(device.firstRegisteredAt, moment).seconds
    }
}

extension Kind {
    /// Whether events of this kind are dated back and signed by one-time keys (NIP-59).
    var isGiftWrap: Bool { self == .giftWrap || self == .ephemeralGiftWrap }
}

extension NotificationOrder {
    /// The rule to use; nil if the book has no such rule.
    fileprivate func rule(of book: RuleBook) -> Rule? {
        switch content {
        case .rule(let rule): rule
        case .template(let name): book.rule(named: name)
        }
    }
}

/// Finds the new follows in contact lists (NIP-02), which always contain all follows.
struct Follows {
    private let registry: Registry
    private let feed: IndexFeed?
    private let trouble: ErrorLog
    private let now: @Sendable () -> Timestamp
    /// Lists of this batch.
    private var fresh: [ContactList] = []
    /// Lists whose events were processed, but which the disk has not taken yet.
    private var unwritten: [ContactList] = []

    /// `feed` limits this to its accounts; nil means all.
    init(registry: Registry, feed: IndexFeed?, trouble: ErrorLog, now: @escaping @Sendable () -> Timestamp) {
        self.registry = registry
        self.feed = feed
        self.trouble = trouble
        self.now = now
    }

    /// Returns the accounts in `list` that its author did not follow before.
    mutating func new(in list: ContactList, seen: ContactListSource) throws -> Set<PublicKey> {
        try catchUp()
        let ofAuthor = fresh.filter { $0.author == list.author }
        guard !ofAuthor.contains(where: { $0.createdAt > list.createdAt }) else { return [] }
        return Set(try registry.newFollows(list, seen: seen, of: feed)).subtracting(ofAuthor.flatMap(\.named))
    }

    /// Counts the accounts in `list` as followed after the batch is on disk.
    mutating func add(_ list: ContactList) { fresh.append(list) }

    /// Writes the lists that the disk refused before; throws if it refuses again.
    mutating func catchUp() throws {
        guard !unwritten.isEmpty else { return }
        try registry.remember(unwritten, of: feed)
        unwritten = []
    }

    /// Ends the batch. If its pushes are on disk, writes its lists. Returns false if these cannot be written.
    mutating func conclude(isKept: Bool) -> Bool {
        defer { fresh = [] }
        guard isKept else { return true }
        unwritten += fresh
        do {
            try catchUp()
            return true
        } catch {
            // The pushes are already queued, so the sender must not try again. The next contact list repeats the write,
            // and waits for it.
            trouble.occurred(error, at: now())
            return false
        }
    }
}
