import Caching
import Delivery
import Nostr
import Notifications
import Registry
import Storage
import Units

/// The stages from matcher to composer, and everything that belongs to accounts: events that wait for context, paces,
/// held groups and causes. Gate, match index and registry stand before it; the context cache is shared. Belongs to one
/// thread at a time.
///
/// One partition has all accounts today, and nothing outside the ``Pipeline`` knows how many there are.
struct Partition {
    private var matcher: Matcher
    private var waiting: WaitingEvents
    private let fetcher: (any ContextFetcher)?
    /// Whether there is a relay to ask, once a batch needed to know.
    private var isReachable: Bool?
    private var filters: Filters
    private var hints: Hints
    private var scheduler: PushScheduler
    /// The newest versions of replaceable events that were pushed.
    private var versions = Withdrawals()
    private let paceStore: (any PaceStore)?
    /// The authors of events whose pushes may still wait somewhere.
    private var pushedAuthors = BoundedCache<SIMD4<UInt64>, Void>(capacity: 100_000)
    private let ruledEvents: (any RuledEventObserver)?
    /// Says when the registry cannot be read.
    private let trouble: FailureLog

    init(
        settings: PipelineSettings,
        registry: Registry,
        feed: IndexFeed? = nil,
        dependencies: PipelineDependencies,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID,
        trouble: FailureLog,
        now: @escaping @Sendable () -> Timestamp
    ) {
        matcher = Matcher(settings: settings, registry: registry, feed: feed, trouble: trouble, now: now)
        fetcher = dependencies.contextFetcher
        waiting = WaitingEvents(
            limits: WaitingEvents.Limits(
                wait: dependencies.contextFetcher == nil ? .zero : settings.contextWait,
                events: settings.contextCapacity
            )
        )
        filters = Filters(EventFilters(settings.filters), registry: registry, trouble: trouble)
        hints = Hints(registry: registry, observer: dependencies.hintObserver)
        scheduler = PushScheduler(settings: settings, dependencies: dependencies, deliveryID: deliveryID)
        ruledEvents = dependencies.ruledEvents
        paceStore = dependencies.paceStore
        self.trouble = trouble
    }

    /// Takes up what the disk has of paces and held groups.
    mutating func load(_ index: borrowing MatchIndex, at now: Timestamp) throws {
        try scheduler.load(index, at: now)
        try paceStore?.forEachAuthor { pushedAuthors.insert($0) }
        for withdrawal in try paceStore?.withdrawals() ?? [] { versions.insert(withdrawal) }
    }

    // MARK: The way of an event

    /// Makes the deliveries of a verified event, or lets it wait. With `place` and size, it may wait for what its texts
    /// refer to; without, it has waited. `isKnown` says whether the request of a zap was handled before.
    mutating func take(
        _ addressed: AddressedEvent,
        waitingAt place: (AnswerPlace, size: Int)?,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        _ effects: inout Effects,
        isKnown: (EventID) -> Bool
    ) -> EventOutcome {
        let event = addressed.event
        // The matcher itself knows which contacts in a list are new.
        guard event.kind.retention == .regular || event.kind == .contactList || !versions.isOutdated(EventOrigin(event))
        else {
            return EventOutcome(
                event: event.id,
                end: .finished(.accepted),
                step: .duplicate,
                reason: StepReason.outdated.rawValue
            )
        }
        do {
            let plans = try matcher.plan(addressed, in: index, &context, at: effects.time)
            if let place, try awaitContext(of: plans, addressed, at: place, &context, effects.time) {
                return EventOutcome(event: event.id, end: .waits, step: .waiting)
            }
            // What reads the disk comes first: it may fail.
            let sessions = try filters.sessions(for: plans, of: event, at: effects.time)
            let (woken, held, special) = (effects.woken, effects.held, effects.special)
            let deliveries = effects.deliveries.count
            effects.begin(asksHeldUntil: addressed.isRequested)
            // By their places: a plan is large, and an event may have thousands.
            for place in plans.indices {
                carryOut(plans[place], sessions.isEmpty ? nil : sessions[place], &context, &effects, isKnown: isKnown)
            }
            if effects.held > held { scheduler.sign(event) }
            if effects.woken > woken { notePushed(event, isSpecial: effects.special > special, &effects) }
            if case .api(let order) = addressed.source {
                order.add(Self.counts(plans, effects, deliveriesBefore: deliveries, heldBefore: held))
            }
            // Two days of gift wraps are read again after a restart. One that woke no device now must wake none then.
            if effects.woken > woken || event.kind.isGiftWrap { effects.add(cause: event.id) }
            matcher.remember(addressed, in: index)
            remember(addressed, plans)
            return EventOutcome(event: event.id, end: .finished(.accepted))
        } catch {
            trouble.occurred(error, at: effects.time)
            return .notKept(event.id)
        }
    }

    /// Remembers what deletions may take back, and which versions must not follow. Over a restart that is worth it where
    /// a push changes what a device goes on to show.
    private mutating func notePushed(_ event: Event, isSpecial: Bool, _ effects: inout Effects) {
        pushedAuthors.insert(SIMD4(event.pubkey.bytes))
        guard event.kind.retention != .regular, let address = EventOrigin(event).address else { return }
        let author = SIMD4(event.pubkey.bytes)
        let older = Withdrawal(author: author, .olderVersions(address), until: max(event.createdAt, .min + 1) - 1)
        versions.insert(older)
        if isSpecial { effects.withdraw([older]) }
    }

    private static func counts(
        _ plans: [Plan],
        _ effects: Effects,
        deliveriesBefore: Int,
        heldBefore: Int
    ) -> NotificationOrder.Counts {
        var counts = NotificationOrder.Counts()
        counts.devices = plans.reduce(0) { $0 + $1.targets.count + $1.exclusions.count { $0.device != nil } }
        // Other groups held for the same device may be sent with it, as pushes of their own.
        counts.queued = Set(effects.deliveries.dropFirst(deliveriesBefore).map(\.device)).count
        counts.held = effects.held - heldBefore
        counts.heldUntil = effects.heldUntil
        return counts
    }

    /// Tells whoever remembers what rules decided about. What somebody asked for over the API is decided by no rule.
    private func remember(_ addressed: AddressedEvent, _ plans: [Plan]) {
        guard let ruledEvents, !addressed.isRequested else { return }
        let accounts = plans.lazy.filter { $0.relevance != nil }.map(\.account)
        if !accounts.isEmpty { ruledEvents.decided(addressed.event, for: Array(accounts)) }
    }

    /// Lets an event wait for what its plans lack; false when they lack nothing that is worth it, or nobody can be
    /// asked.
    private mutating func awaitContext(
        of plans: [Plan],
        _ addressed: AddressedEvent,
        at place: (AnswerPlace, size: Int),
        _ context: inout EventContext,
        _ now: Timestamp
    ) throws -> Bool {
        guard waiting.hasCapacity(for: place.size), canAsk() else { return false }
        var wants = ContextWants()
        do {
            for plan in plans {
                wants.formUnion(plan.missing(in: &context, at: now))
                wants.formUnion(try filters.wants(of: plan, for: addressed.event, &context, at: now))
            }
        } catch {
            filters.abandon(wants.distances, at: now)
            throw error
        }
        guard !wants.isEmpty else { return false }
        let event = WaitingEvent(event: addressed.event, source: addressed.source, places: [place.0])
        waiting.add(event, size: place.size, for: wants, at: now)
        return true
    }

    /// Relays come and go while events arrive, so each batch looks once.
    private mutating func canAsk() -> Bool {
        if let isReachable { return isReachable }
        let isReachable = fetcher?.isReachable ?? false
        self.isReachable = isReachable
        return isReachable
    }

    /// Wakes the devices of a plan, or lets it wait for them. A zap counts once: anybody can make receipts of a public
    /// request, as often as they like.
    private mutating func carryOut(
        _ plan: Plan,
        _ session: FilterSession?,
        _ context: inout EventContext,
        _ effects: inout Effects,
        isKnown: (EventID) -> Bool
    ) {
        let (event, account) = (plan.event, plan.account)
        let zap = plan.targets.isEmpty ? nil : plan.relevance?.zap?.request
        if let zap, isKnown(zap) || effects.zapRequests.contains(zap) {
            return effects.log.note(.duplicate, event, account, nil, StepReason.zapKnown.rawValue)
        }
        guard let session else { return wake(plan, nil, zap, &context, &effects) }
        let (passing, dropped) = filters.decide(plan, session)
        for drop in dropped { effects.log.note(filter: drop.filter, event, account, drop.device, drop.reason) }
        wake(passing, session, zap, &context, &effects)
    }

    /// Wakes the devices of a plan that filters let pass. `zap` is the request that it is about.
    private mutating func wake(
        _ plan: Plan,
        _ session: FilterSession?,
        _ zap: EventID?,
        _ context: inout EventContext,
        _ effects: inout Effects
    ) {
        if let zap, !plan.targets.isEmpty { effects.add(zapRequest: zap) }
        for exclusion in plan.exclusions {
            effects.log.note(exclusion.step, plan.event, plan.account, exclusion.device, exclusion.reason)
        }
        for target in plan.targets { scheduler.push(target, of: plan, session, &context, &effects) }
    }

    // MARK: Other events

    /// Remembers an event that was there before anybody listened: a gift wrap or a contact list, which wakes no device
    /// later either.
    mutating func takeBaseline(
        _ addressed: AddressedEvent,
        in index: borrowing MatchIndex,
        _ effects: inout Effects
    ) -> EventOutcome {
        let id = addressed.event.id
        do {
            if try matcher.rememberBaseline(addressed, in: index) {
                effects.add(baselineList: id)
            } else {
                effects.add(cause: id)
            }
            return EventOutcome(event: id, end: .finished(.accepted), step: .baseline)
        } catch {
            trouble.occurred(error, at: effects.time)
            return .notKept(id)
        }
    }

    /// Wakes the accounts that a hint (kind 20062) names. Its sender gets an OK in any case: nobody
    /// learns who is whose partner.
    mutating func take(
        hint addressed: AddressedEvent,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        _ effects: inout Effects
    ) -> EventOutcome {
        let (event, accounts) = (addressed.event, addressed.accounts)
        guard let hint = hints.read(event, naming: accounts.count, at: effects.time) else {
            return EventOutcome(event: event.id, end: .stopped(.accepted), step: .hintStale)
        }
        do {
            let woken = effects.woken
            for account in accounts { try wake(account, on: hint, in: index, &context, &effects) }
            if effects.woken > woken { effects.add(cause: event.id) }
            return EventOutcome(event: event.id, end: .finished(.accepted))
        } catch {
            trouble.occurred(error, at: effects.time)
            return .notKept(event.id)
        }
    }

    private mutating func wake(
        _ account: AccountNumber,
        on hint: WakeUpHint,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        _ effects: inout Effects
    ) throws {
        guard let key = index.key(of: account) else { return }
        let partnered: Set<DeviceID>
        switch try hints.judge(hint, for: key, at: effects.time) {
        case .stopped(let step): return effects.log.note(step, hint.event, key)
        case .wakes(let devices): partnered = devices
        }
        let wanted = index.signals[hint.signal]
        let notification = Notification.wake(hint.signal, urgency: hint.signal == .dm ? .high : .normal)
        let match = PaceMatch(
            event: hint.event,
            signal: hint.signal,
            mode: .wake,
            urgency: notification.urgency,
            expiresAt: .epoch,
            nature: .silent
        )
        index.forEachDevice(of: account) { device in
            guard partnered.contains(device.device), let target = matcher.target(device.device, of: key, in: index)
            else { return }
            guard !device.signals.isDisjoint(with: wanted) else {
                return effects.log.note(.unwanted, hint.event, key, device.device, hint.signal.rawValue)
            }
            var draft = Draft(notification, for: match, to: target, reason: "hint")
            scheduler.push(&draft, index.preferences(of: device.device).pace, &context, &effects)
        }
    }

    /// Takes deleted events out of the groups that they wait in, and out of the outbox.
    mutating func withdraw(_ deletion: Deletion, _ context: inout EventContext, _ effects: inout Effects) {
        scheduler.withdraw(deletion, &context, &effects)
        if mayHaveWaiting(deletion.author) { effects.withdraw(deletion.withdrawals) }
    }

    /// Whether an event waits, for context or for a device's time.
    func holds(_ event: EventID) -> Bool { scheduler.holds(event) || waiting.contains(event) }

    /// Whether pushes for an event of that author may wait.
    func mayHaveWaiting(_ author: PublicKey) -> Bool { pushedAuthors.contains(SIMD4(author.bytes)) }

    // MARK: Events that wait for context

    /// Lets a further copy of an event that waits share its end; false when that event does not wait.
    mutating func join(_ event: EventID, at place: AnswerPlace) -> Bool { waiting.join(event, at: place) }

    /// A verified event is known now that others may wait for.
    mutating func found(_ event: Event, _ context: inout EventContext, at now: Timestamp) {
        if event.kind == .profile { waiting.found(.profile(event.pubkey)) }
        let isAuthorSought =
            waiting.seeksAuthor(of: event.id) && context.isWorthSeeking(profileOf: event.pubkey, at: now)
        waiting.found(.event(event.id), by: isAuthorSought ? event.pubkey : nil)
        if event.kind.retention == .addressable { waiting.found(.address(event.address)) }
    }

    /// An account's own list is known now, or is not to be had now.
    mutating func found(list: Event, at now: Timestamp) {
        waiting.found(.list(ListWant(account: list.pubkey, kind: list.kind)))
        guard list.kind == .contactList else { return }
        waiting.found(.contactList(list.pubkey))
        let (settled, open) = filters.resume(distancesOf: list.pubkey, at: now)
        for want in settled { waiting.found(.distance(want)) }
        filters.abandon(Set(open.filter { !waiting.ask($0) }), at: now)
    }

    /// A contact list was fetched, which may settle distances.
    mutating func settleDistances(by list: Event, at now: Timestamp) {
        for want in filters.settle(by: list, at: now) { waiting.found(.distance(want)) }
    }

    /// A fetch ended: what it has not found is waited for no longer.
    mutating func endFetch(_ number: Int, isAnswered: Bool, _ context: inout EventContext, at now: Timestamp) {
        let wants = waiting.ended(number)
        context.noteSought(wants, at: now)
        for want in filters.end(wants, isAnswered: isAnswered, at: now) { waiting.found(.distance(want)) }
    }

    /// Takes out the events that lack nothing any more or have waited long enough; all of them where `now` is nil.
    mutating func takeReady(at now: Timestamp?) -> [WaitingEvent] {
        now.map { waiting.takeReady(at: $0) } ?? waiting.takeAll()
    }

    /// What relays are to be asked for now.
    mutating func nextFetch() -> WaitingEvents.Fetch? { waiting.nextFetch() }

    // MARK: Batches

    /// Takes up the time of a batch, and the ends of deliveries.
    mutating func begin(at now: Timestamp, _ ends: [PushEnd]) {
        isReachable = nil
        scheduler.begin(at: now, ends)
    }

    /// Wakes the devices whose time has come.
    mutating func releaseDue(in index: borrowing MatchIndex, _ effects: inout Effects) {
        scheduler.releaseDue(in: index, matcher, &effects)
    }

    /// Completes what the batch leads to.
    mutating func close(_ effects: inout Effects) { scheduler.close(&effects) }

    /// The disk took the batch, or refused it; nil: it was not asked. False when it does not have the batch's contact
    /// lists.
    mutating func conclude(isKept: Bool?, at now: Timestamp) -> Bool {
        scheduler.conclude(isKept: isKept, at: now)
        return matcher.conclude(isKept: isKept ?? true)
    }

    // MARK: Between batches

    mutating func apply(_ change: IndexChange) { scheduler.apply(change) }

    /// Decides by other settings from now on. How long and how many events wait for context stays as it was at the
    /// start.
    mutating func adopt(_ settings: PipelineSettings, _ eventFilters: EventFilters, hasOtherPacing: Bool) {
        matcher.adopt(settings)
        filters.adopt(eventFilters)
        scheduler.adopt(settings, hasOtherPacing: hasOtherPacing)
    }

    /// How long to wait at most before the next look; nil: without limit.
    func patience(at now: Timestamp) -> Duration? {
        [waiting.patience(at: now), scheduler.patience(at: now)].compactMap(\.self).min()
    }

    /// Devices for which something waits.
    var waitingDevices: Int { scheduler.waitingDevices }

    /// Events that wait for context.
    var waitingEvents: Int { waiting.count }
}
