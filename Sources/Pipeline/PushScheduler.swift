import Delivery
import Nostr
import Notifications
import Registry
import Units

/// Makes deliveries: paces drafts, composes the notifications of those that go, and keeps the others until their
/// devices' time has come.
struct PushScheduler {
    private var pacing: Pacing
    private var composer: Composer
    /// Without one, there is always capacity.
    private let capacity: (any DeliveryCapacity)?
    private let deliveryID: @Sendable (EventID, DeviceID) -> DeliveryID

    init(
        settings: PipelineSettings,
        dependencies: PipelineDependencies,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> DeliveryID
    ) {
        pacing = Pacing(policy: settings.pacing, store: dependencies.paceStore)
        composer = Composer(rules: settings.rules, sealer: dependencies.sealer)
        capacity = dependencies.capacity
        self.deliveryID = deliveryID
    }

    /// Takes up what the disk has of paces and held groups.
    mutating func load(_ index: borrowing MatchIndex, at now: Timestamp) throws { try pacing.load(index, at: now) }

    mutating func adopt(_ settings: PipelineSettings, hasOtherPacing: Bool) {
        composer.adopt(settings)
        if hasOtherPacing { pacing.follow(settings.pacing) }
    }

    mutating func apply(_ change: IndexChange) { pacing.apply(change) }

    /// Takes up the time of a batch, and the ends of deliveries.
    mutating func begin(at now: Timestamp, _ ends: [PushEnd]) { pacing.begin(at: now, ends) }

    /// How long to wait at most before the next look; nil: without limit.
    func patience(at now: Timestamp) -> Duration? { pacing.patience(at: now) }

    /// Devices for which something waits.
    var waitingDevices: Int { pacing.waitingDevices }

    /// Whether an event waits for any device's time.
    func holds(_ event: EventID) -> Bool { pacing.holds(event) }

    /// Remembers who signed an event that waits.
    mutating func sign(_ event: Event) { pacing.sign(event) }

    // MARK: Drafts

    /// Paces and delivers a target of a plan. `session` says what filters make of its notification.
    mutating func push(
        _ target: Plan.Target,
        of plan: Plan,
        _ session: FilterSession?,
        _ context: inout EventContext,
        _ effects: inout Effects
    ) {
        let (event, account, device) = (plan.event, plan.account, target.device.device)
        switch composer.draft(target, expiresAt: plan.expiresAt, session, &context, at: effects.time) {
        case .withheld(let rule, let keys):
            effects.log.note(.withheld, keys, of: rule, event, account, device)
        case .dropped(let filter, let reason):
            effects.log.note(filter: filter, event, account, device, reason)
        case .draft(var draft):
            push(&draft, target.preferences.pace, &context, &effects)
            guard let (rule, keys) = draft.leftOut else { return }
            effects.log.note(.valueLeftOut, keys, of: rule, event, account, device)
        }
    }

    /// Wakes a device now, or lets the event wait for its time.
    mutating func push(
        _ draft: inout Draft,
        _ preferences: PacePreferences,
        _ context: inout EventContext,
        _ effects: inout Effects
    ) {
        let pace = pacing.pace(for: preferences, on: draft.target.route.platform)
        let (target, match, now) = (draft.target, draft.match, effects.time)
        if match.nature == .special { effects.noteSpecial() }
        let dependsOnCapacity = pacing.dependsOnCapacity(match, of: target.device, at: pace, now: now)
        let hasCapacity = !dependsOnCapacity || Self.take(capacity, for: target.device, target.route)
        switch pacing.admit(match, to: target, at: pace, hasCapacity: hasCapacity, now: now) {
        case .bypasses(let earlier):
            if let earlier {
                let release = Release(device: target.device, pace: pace ?? Pace(), groups: [earlier])
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
        _ effects: inout Effects
    ) {
        let notification = composer.compose(&draft, id: id, &context, at: effects.time)
        effects.deliver(notification, id: id, for: draft.match.event, to: draft.target, reason: draft.reason)
    }

    /// Delivers several events as one push.
    private func deliver(_ sum: HeldGroup, _ id: DeliveryID, to target: TargetDevice, _ effects: inout Effects) {
        effects.deliver(
            composer.summary(sum, id: id, for: target, at: effects.time),
            id: id,
            for: sum.event,
            to: target,
            reason: QueuedReason.batch + "\(sum.count)"
        )
    }

    /// Takes capacity in the outbox for a push; false when there is none.
    private static func take(_ capacity: (any DeliveryCapacity)?, for device: DeviceID, _ route: Route) -> Bool {
        capacity?.take(for: device, of: QueueName(platform: route.platform, app: route.app)) ?? true
    }

    /// Takes deleted events out of the groups that they wait in.
    mutating func withdraw(_ deletion: Deletion, _ context: inout EventContext, _ effects: inout Effects) {
        for (event, group, device) in pacing.withdraw(deletion, signer: { context.authors(of: $0)?.first }) {
            let delivery = deliveryID(group.event, device)
            effects.log.note(.deleted, event, group.account, device, StepReason.whileHeld.rawValue, delivery: delivery)
        }
    }

    // MARK: Devices whose time has come

    /// Wakes the devices whose time has come.
    mutating func releaseDue(in index: borrowing MatchIndex, _ matcher: Matcher, _ effects: inout Effects) {
        let capacity = pacing.isOn ? capacity : nil
        let releases = pacing.takeDue(at: effects.time) { device, group in
            let signal = index.signals[group.signal]
            // No device can switch off a signal that no rule raises any more.
            guard !signal.isEmpty, let entry = index.device(device, of: group.account) else { return true }
            return !entry.signals.isDisjoint(with: signal)
        } hasCapacity: { device, account in
            guard let entry = index.device(device, of: account), let route = index.route(entry.route) else {
                return true
            }
            return Self.take(capacity, for: device, route)
        } preferences: { device, account in
            guard let entry = index.device(device, of: account) else { return nil }
            return (index.preferences(of: device).pace, index.route(entry.route)?.platform ?? "")
        }
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

    /// Delivers groups that go as one push. Throws when the disk does not give what was held.
    private mutating func carryOut(_ release: Release, to target: TargetDevice, _ effects: inout Effects) throws {
        guard var sum = release.groups.first else { return }
        let (first, device) = (sum, target.device)
        let id = deliveryID(first.event, device)
        var notification: Notification?
        // Of many events not all notifications are known: one that is left goes as a batch of one then.
        let shown = release.groups.count == 1 ? first.shown : nil
        if let shown {
            // A notification that cannot be read any more goes as a mere wake-up.
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

    /// All groups go as one push under the first one's id, with so many `further` events. Every member shows how many
    /// they are.
    private func noteReleased(
        _ groups: [HeldGroup],
        further: Int,
        _ id: DeliveryID,
        _ device: DeviceID,
        _ effects: inout Effects
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

    /// Notes what becomes of a group for all its members, who know the delivery they wait for and not each other.
    private func note(
        _ step: PipelineStep,
        of group: HeldGroup,
        for device: DeviceID,
        reason: @autoclosure () -> String = "",
        _ effects: inout Effects
    ) {
        effects.log.note(step, nil, group.account, device, reason(), delivery: deliveryID(group.event, device))
    }

    // MARK: The end of a batch

    /// Notes what became of groups that wait, and adds what the disk has to take of paces.
    mutating func close(_ effects: inout Effects) {
        let (merges, forgotten, dropped) = pacing.findings()
        for merge in merges {
            let whole = deliveryID(merge.into, merge.device)
            note(.joined, of: merge.group, for: merge.device, reason: whole.description, &effects)
        }
        for (device, groups) in forgotten {
            for group in groups { note(.left, of: group, for: device, &effects) }
        }
        for drop in dropped { note(drop.step, of: drop.group, for: drop.device, reason: drop.reason, &effects) }
        if effects.hasChanges || pacing.isTouched { effects.set(pacing.changes) }
    }

    /// The disk took the batch, or refused it; nil: it was not asked.
    mutating func conclude(isKept: Bool?, at now: Timestamp) {
        switch isKept {
        case true?: pacing.commit()
        case false?: pacing.rollBack(at: now)
        case nil: break
        }
        capacity?.settle()
    }
}

extension Notification {
    fileprivate func isExpired(at now: Timestamp) -> Bool { expiresAt > .epoch && expiresAt <= now }
}
