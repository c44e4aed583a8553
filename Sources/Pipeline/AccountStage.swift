import Core
import Delivery
import Nostr
import Push
import Registry
import Storage

/// The stages for an event that names accounts. ``Matcher`` plans its pushes, ``Filters`` drop some, ``Pacing`` sends
/// or holds them, and ``Composer`` makes the notifications.
struct AccountStage {
    var matcher: Matcher
    var filters: Filters
    var pacing: Pacing
    private var composer: Composer
    private var hints: Hints
    private let storage: PipelineStorage
    private let deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID
    private let ruledEvents: RuledEventObserver?
    /// The newest versions of replaceable events that were pushed.
    private var versions = Withdrawals()
    /// The authors of events with pushes that may still be queued or held.
    private var pushedAuthors = BoundedCache<SIMD4<UInt64>, Void>(capacity: 100_000)
    /// Logs that the registry cannot be read.
    private let trouble: ErrorLog

    init(
        _ settings: PipelineSettings,
        _ registry: Registry,
        feed: IndexFeed?,
        _ storage: PipelineStorage,
        _ dependencies: PipelineDependencies,
        trouble: ErrorLog
    ) {
        let follows = Follows(registry: registry, feed: feed, trouble: trouble, now: dependencies.now)
        matcher = Matcher(settings, registry, follows)
        filters = Filters(EventFilters(settings.filters), registry: registry, trouble: trouble)
        hints = Hints(registry: registry, heard: dependencies.hintHeard)
        pacing = Pacing(policy: settings.pacing, store: storage.paceStore)
        composer = Composer(rules: settings.rules, sealer: dependencies.sealer)
        self.storage = storage
        deliveryID = dependencies.deliveryID
        ruledEvents = dependencies.ruledEvents
        self.trouble = trouble
    }

    /// Loads paces and held groups from disk.
    mutating func load(_ index: borrowing MatchIndex, at now: Timestamp) throws {
        try pacing.load(index, at: now)
        try storage.paceStore?.forEachAuthor { pushedAuthors.insert($0) }
        for withdrawal in try storage.paceStore?.withdrawals() ?? [] { versions.insert(withdrawal) }
    }

    mutating func adopt(_ settings: PipelineSettings, hasOtherPacing: Bool) {
        matcher.adopt(settings)
        filters.filters = EventFilters(settings.filters)
        composer.rules = settings.rules
        if hasOtherPacing { pacing.follow(settings.pacing) }
    }

    // MARK: Events

    /// Whether a newer version of a replaceable event was pushed. Contact lists are excluded: the matcher knows which
    /// contacts in a list are new.
    func isOutdated(_ event: Event) -> Bool {
        event.kind.retention != .regular && event.kind != .contactList && versions.isOutdated(EventOrigin(event))
    }

    /// Whether pushes for an event by `author` may still be queued or held.
    func hasPushed(_ author: PublicKey) -> Bool { pushedAuthors.contains(SIMD4(author.bytes)) }

    /// Makes the pushes of an event's plans. `sessions` holds the filter session of each plan, in the same order; it is
    /// empty if there are no filters. `accepted` contains the requests of zaps that were handled before.
    mutating func push(
        _ plans: [Plan],
        of addressed: AddressedEvent,
        _ sessions: [FilterSession?],
        accepted: AcceptedEvents,
        _ context: inout EventContext,
        _ effects: inout BatchWrite
    ) {
        let event = addressed.event
        let (woken, held, special, deliveries) = (
            effects.woken, effects.held, effects.special, effects.deliveries.count
        )
        effects.begin(asksHeldUntil: addressed.isRequested)
        // Iterates over indices: a plan is large, and an event may have thousands of them.
        for place in plans.indices {
            // Anyone can make any number of receipts for a public request, so a zap counts only once.
            let zap = plans[place].targets.isEmpty ? nil : plans[place].relevance?.zap?.request
            if let zap, accepted.contains(zap) || effects.zapRequests.contains(zap) {
                effects.log.note(.duplicate, event.id, plans[place].account, nil, StepReason.zapKnown.rawValue)
            } else {
                push(plans[place], sessions.isEmpty ? nil : sessions[place], zap: zap, &context, &effects)
            }
        }
        if effects.held > held { pacing.sign(event) }
        if effects.woken > woken { notePushed(event, isSpecial: effects.special > special, &effects) }
        // After a restart, two days of gift wraps are read again. A gift wrap that notified no device now must not do
        // so then.
        if effects.woken > woken || event.kind.isGiftWrap { effects.add(cause: event.id) }
        if case .api(let order) = addressed.source {
            var counts = NotificationOrder.Counts()
            counts.devices = plans.reduce(0) { $0 + $1.targets.count + $1.exclusions.count { $0.device != nil } }
            // Other groups held for the same device may be sent along as separate pushes.
            counts.queued = Set(effects.deliveries.dropFirst(deliveries).map(\.device)).count
            counts.held = effects.held - held
            counts.heldUntil = effects.heldUntil
            order.add(counts)
        } else if let ruledEvents {
            let accounts = plans.lazy.filter { $0.relevance != nil }.map(\.account)
            if !accounts.isEmpty { ruledEvents.decided(event, Array(accounts)) }
        }
    }

    /// Makes the pushes of a plan that pass the filters. `zap` is the zap request that the event is about.
    private mutating func push(
        _ plan: Plan,
        _ session: FilterSession?,
        zap: EventID?,
        _ context: inout EventContext,
        _ effects: inout BatchWrite
    ) {
        let (event, account) = (plan.event, plan.account)
        var targets = plan.targets
        if let session {
            targets.removeAll { target in
                guard case .drop(let filter, let reason) = session.decision(target) else { return false }
                effects.log.note(filter: filter, event, account, target.device.device, reason)
                return true
            }
        }
        if let zap, !targets.isEmpty { effects.add(zapRequest: zap) }
        for exclusion in plan.exclusions {
            effects.log.note(exclusion.step, event, account, exclusion.device, exclusion.reason)
        }
        for target in targets {
            let device = target.device.device
            switch composer.draft(target, session, &context, at: effects.time) {
            case .withheld(let rule, let keys): effects.log.note(.withheld, keys, of: rule, event, account, device)
            case .dropped(let filter, let reason): effects.log.note(filter: filter, event, account, device, reason)
            case .draft(var draft):
                push(&draft, target.preferences.pace, &context, &effects)
                guard let (rule, keys) = draft.leftOut else { continue }
                effects.log.note(.valueLeftOut, keys, of: rule, event, account, device)
            }
        }
    }

    /// Records what deletions may take back, and which versions are outdated. Only pushes that change what a device
    /// still shows justify keeping this across a restart.
    private mutating func notePushed(_ event: Event, isSpecial: Bool, _ effects: inout BatchWrite) {
        let author = SIMD4(event.pubkey.bytes)
        pushedAuthors.insert(author)
        guard event.kind.retention != .regular, let address = EventOrigin(event).address else { return }
        let older = Withdrawal(author: author, .olderVersions(address), until: max(event.createdAt, .min + 1) - 1)
        versions.insert(older)
        if isSpecial { effects.withdraw([older]) }
    }

    /// Records an event that predates the router's subscription: a gift wrap or a contact list. It never notifies a
    /// device.
    mutating func takeBaseline(
        _ addressed: AddressedEvent,
        in index: borrowing MatchIndex,
        _ effects: inout BatchWrite
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

    /// Removes deleted events from the held groups and from the outbox.
    mutating func withdraw(_ deletion: Deletion, _ context: inout EventContext, _ effects: inout BatchWrite) {
        ruledEvents?.withdrawn(deletion)
        for (event, group, device) in pacing.withdraw(deletion, &context) {
            let delivery = deliveryID(group.event, device)
            effects.log.note(.deleted, event, group.account, device, StepReason.whileHeld.rawValue, delivery: delivery)
        }
        if hasPushed(deletion.author) { effects.withdraw(deletion.withdrawals) }
    }

    // MARK: Hints

    /// Sends wake-ups for the accounts that a hint (kind 20062) names. The sender always gets an OK, so it cannot find
    /// out who is whose partner.
    mutating func wake(
        by addressed: AddressedEvent,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        _ effects: inout BatchWrite
    ) -> EventOutcome {
        let (event, accounts) = (addressed.event, addressed.accounts)
        guard let hint = hints.read(event, naming: accounts.count, at: effects.time) else {
            return EventOutcome(event: event.id, end: .stopped(.accepted), step: .hintStale)
        }
        do {
            let woken = effects.woken
            for account in accounts { try wake(account, by: hint, in: index, &context, &effects) }
            if effects.woken > woken { effects.add(cause: event.id) }
            return EventOutcome(event: event.id, end: .finished(.accepted))
        } catch {
            trouble.occurred(error, at: effects.time)
            return .notKept(event.id)
        }
    }

    private mutating func wake(
        _ account: AccountNumber,
        by hint: WakeUpHint,
        in index: borrowing MatchIndex,
        _ context: inout EventContext,
        _ effects: inout BatchWrite
    ) throws {
        guard let key = index.key(of: account) else { return }
        let partnered: Set<DeviceID>
        switch try hints.decide(hint, for: key, at: effects.time) {
        case .stop(let step): return effects.log.note(step, hint.event, key)
        case .wake(let devices): partnered = devices
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
            push(&draft, index.preferences(of: device.device).pace, &context, &effects)
        }
    }

    // MARK: Devices

    /// Pushes to a device now, or holds the event until the device's pace allows it.
    private mutating func push(
        _ draft: inout Draft,
        _ preferences: PacePreferences,
        _ context: inout EventContext,
        _ effects: inout BatchWrite
    ) {
        let pace = pacing.pace(for: preferences, on: draft.target.route.platform)
        let (target, match, now) = (draft.target, draft.match, effects.time)
        if match.nature == .special { effects.noteSpecial() }
        let dependsOnCapacity = pacing.dependsOnCapacity(match, of: target.device, at: pace, now: now)
        let hasCapacity = !dependsOnCapacity || storage.takeCapacity(for: target.device, target.route)
        switch pacing.admit(match, to: target, at: pace, hasCapacity: hasCapacity, now: now) {
        case .bypasses(let earlier):
            if let earlier {
                let release = ReleasedPush(device: target.device, pace: pace ?? Pace(), groups: [earlier])
                do { try carryOut(release, to: target, &effects) } catch { effects.fail(error) }
            }
            let id = deliveryID(match.event, target.device)
            deliver(&draft, id, &context, &effects)
        case .now(let groups):
            let id = deliveryID(groups.first?.event ?? match.event, target.device)
            pacing.release(
                id,
                to: target.device,
                match.nature,
                pace ?? Pace(),
                at: now,
                mayLeaveMore: !groups.isEmpty
            )
            guard var sum = groups.first else { return deliver(&draft, id, &context, &effects) }
            noteReleased(groups, further: 1, id, target.device, &effects)
            effects.log.note(.batched, match.event, target.account, target.device, delivery: id)
            for group in groups.dropFirst() { sum.add(group) }
            sum.add(match, nil)
            deliver(sum, id, to: target, &effects)
        case .later(let reason, let group):
            let id = deliveryID(group.event, target.device)
            if let member = group.member(match.event) {
                let notification = composer.compose(&draft, id: id, &context, at: now)
                pacing.keep(composer.hold(notification, for: target.device), of: member, target.device)
            }
            effects.hold(
                match.event,
                for: target,
                as: id,
                in: group,
                reason,
                until: pacing.due(group, of: target.device, at: pace, now: now)
            )
        }
    }

    private func deliver(
        _ draft: inout Draft,
        _ id: DeliveryID,
        _ context: inout EventContext,
        _ effects: inout BatchWrite
    ) {
        let notification = composer.compose(&draft, id: id, &context, at: effects.time)
        effects.deliver(notification, id: id, for: draft.match.event, to: draft.target, reason: draft.reason)
    }

    /// Delivers several events as one push.
    private func deliver(_ sum: HeldGroup, _ id: DeliveryID, to target: TargetDevice, _ effects: inout BatchWrite) {
        let notification = composer.summary(sum, id: id, for: target, at: effects.time)
        let reason = QueuedReason.batch + "\(sum.count)"
        effects.deliver(notification, id: id, for: sum.event, to: target, reason: reason)
    }

    /// Sends the groups whose hold time has ended.
    mutating func releaseDue(in index: borrowing MatchIndex, _ effects: inout BatchWrite) {
        let storage = storage
        let releases = pacing.takeDue(in: index, at: effects.time) { storage.takeCapacity(for: $0, $1) }
        do {
            for release in releases {
                guard let account = release.groups.first?.account,
                    let target = matcher.target(release.device, of: account, in: index)
                else { continue }
                try carryOut(release, to: target, &effects)
            }
        } catch {
            effects.fail(error)
        }
    }

    /// Delivers groups as one push. Throws if the held notification cannot be read from disk.
    private mutating func carryOut(_ release: ReleasedPush, to target: TargetDevice, _ effects: inout BatchWrite) throws
    {
        guard var sum = release.groups.first else { return }
        let (first, device) = (sum, target.device)
        let id = deliveryID(first.event, device)
        var notification: Notification?
        // Not every notification of a batch is stored. If one event is left, it is sent as a batch of one.
        let shown = release.groups.count == 1 ? first.shown : nil
        if let shown {
            // A notification that can no longer be read is sent as a plain wake-up.
            let held =
                try pacing.notification(of: shown, device)
                ?? HeldNotification(.wake(first.signal, urgency: first.urgency))
            guard !first.isExpired(at: effects.time), !held.notification.isExpired(at: effects.time) else {
                return note(.expired, of: first, for: device, reason: StepReason.whileHeld.rawValue, &effects)
            }
            notification = composer.renew(held, id: id, for: target)
        }
        pacing.release(id, to: device, first.nature, release.pace, at: effects.time)
        noteReleased(release.groups, further: 0, id, device, &effects)
        if let shown, let notification {
            effects.deliver(notification, id: id, for: shown.event, to: target, reason: QueuedReason.held)
        } else {
            for group in release.groups.dropFirst() { sum.add(group) }
            deliver(sum, id, to: target, &effects)
        }
    }

    /// Notes that all groups are sent as one push under the first group's id, with up to `further` more events. Each
    /// member's step shows their number.
    private func noteReleased(
        _ groups: [HeldGroup],
        further: Int,
        _ id: DeliveryID,
        _ device: DeviceID,
        _ effects: inout BatchWrite
    ) {
        let count = groups.reduce(further) { $0 + Int($1.count) }
        for (number, group) in groups.enumerated() {
            if number == 0 {
                let size = QueuedReason.size(count, isLatest: group.mark != nil)
                note(.released, of: group, for: device, reason: size, &effects)
            } else {
                note(.joined, of: group, for: device, reason: id.description, &effects)
            }
        }
    }

    /// Notes a group's step for all its members. Members know the delivery that they are part of, but not each other.
    private func note(
        _ step: PipelineStep,
        of group: HeldGroup,
        for device: DeviceID,
        reason: @autoclosure () -> String = "",
        _ effects: inout BatchWrite
    ) {
        effects.log.note(step, nil, group.account, device, reason(), delivery: deliveryID(group.event, device))
    }

    // MARK: The end of a batch

    /// Notes the results for held groups, and adds the pace changes for the disk.
    mutating func complete(_ effects: inout BatchWrite) {
        let found = pacing.takeUncommitted()
        for merge in found.merges {
            let whole = deliveryID(merge.into, merge.device)
            note(.joined, of: merge.group, for: merge.device, reason: whole.description, &effects)
        }
        for (device, groups) in found.forgotten {
            for group in groups { note(.left, of: group, for: device, &effects) }
        }
        for drop in found.dropped { note(drop.step, of: drop.group, for: drop.device, reason: drop.reason, &effects) }
        if effects.hasChanges || found.isTouched { effects.set(pacing.changes) }
    }

    /// Ends the batch: `isKept` is whether the disk took it, or nil if there was nothing to write.
    mutating func conclude(isKept: Bool?, at now: Timestamp) {
        switch isKept {
        case true?: pacing.commit()
        case false?: pacing.rollBack(at: now)
        case nil: break
        }
        storage.capacity?.settle()
    }
}

extension PipelineStorage {
    /// Takes capacity in the outbox for a push. Returns false if there is none.
    fileprivate func takeCapacity(for device: DeviceID, _ route: Route) -> Bool {
        capacity?.take(for: device, of: QueueName(platform: route.platform, app: route.app)) ?? true
    }
}

extension Notification {
    fileprivate func isExpired(at now: Timestamp) -> Bool { expiresAt > .epoch && expiresAt <= now }
}
