import Delivery
import Nostr
import Notifications
import Registry
import Rules

/// Waking devices at their own pace.
extension Addressees {
    /// Wakes a device now, or lets the event wait for its time. `render` makes the notification, if it is needed, under the number
    /// it is given; `reason` says why the device is woken.
    func wake(
        _ addressee: Addressee,
        for match: PaceMatch,
        at pace: Pace?,
        _ pacing: inout Pacing,
        reason: @autoclosure () -> String,
        into batch: inout Batch,
        render: (_ delivery: String) -> Notification
    ) {
        let (account, device) = (addressee.account, addressee.device)
        if goesAtOnce(match, to: addressee, at: pace, pacing, batch.time) {
            sendAhead(of: match, to: addressee, at: pace, &pacing, into: &batch)
            let id = deliveryID(match.event, device)
            return deliver(
                render(id),
                id: id,
                for: match.event,
                to: (account, device),
                addressee.route,
                reason: reason(),
                into: &batch
            )
        }
        var hasRoom: Bool?
        // Nothing passes by what waits for room.
        if pace == nil, !pacing.pacer.isHolding(device) {
            hasRoom = pacing.outbox.takesRoom(for: device, addressee.route)
        }
        if hasRoom == true {
            let id = deliveryID(match.event, device)
            return deliver(
                render(id),
                id: id,
                for: match.event,
                to: (account, device),
                addressee.route,
                reason: reason(),
                into: &batch
            )
        }
        let pace = pace ?? Pace()
        let outbox = pacing.outbox
        let admission = pacing.pacer.admit(match, of: device, account, pace, at: batch.time) {
            hasRoom ?? outbox.takesRoom(for: device, addressee.route)
        }
        switch admission {
        case .held(let why, let group):
            let id = deliveryID(group.event, device)
            if group.says(match) { pacing.keep(held(render(id), for: device), of: group, device) }
            pacing.matches.add(match.event, of: device, in: group, isSaid: group.says(match))
            batch.paced += 1
            batch.log.note(
                group.count == 1 ? .held : .batched,
                event: match.event,
                account: account,
                device: device,
                delivery: id,
                reason: why.rawValue
            )
        case .goes(let waited):
            let id = deliveryID(waited.first?.event ?? match.event, device)
            if pace.isGathering { pacing.pacer.release(id, to: device, match.nature, pace, at: batch.time) }
            if waited.isEmpty {
                return deliver(
                    render(id),
                    id: id,
                    for: match.event,
                    to: (account, device),
                    addressee.route,
                    reason: reason(),
                    into: &batch
                )
            }
            noteReleased(waited, and: match, id, device, into: &batch)
            batch.log.note(.batched, event: match.event, account: account, device: device, delivery: id)
            deliver(batchOf: waited, and: match, id, to: addressee, into: &batch)
            pacing.pacer.arm(device, pace, at: batch.time)
        }
    }

    /// Whether a match neither waits nor counts. Quiet hours hold alerts all the same: they are the device's own wish.
    /// What is no alert cannot become part of a batch, so it needs no room in its push service's share.
    private func goesAtOnce(
        _ match: PaceMatch,
        to addressee: Addressee,
        at pace: Pace?,
        _ pacing: Pacing,
        _ now: Int64
    ) -> Bool {
        guard match.pace == .immediate else { return false }
        if match.nature == .alert, pace?.quietEnd(at: now, isMessage: match.signal == .dm) != nil { return false }
        return pacing.outbox.takesRoom(for: addressee.device, addressee.route) || match.nature == .special
    }

    /// Sends what waits under the mark of a match that goes at once, such as an update before the end of its Live
    /// Activity.
    private func sendAhead(
        of match: PaceMatch,
        to addressee: Addressee,
        at pace: Pace?,
        _ pacing: inout Pacing,
        into batch: inout Batch
    ) {
        guard let mark = match.mark, let group = pacing.pacer.take(mark, of: addressee.device) else { return }
        let release = Release(device: addressee.device, pace: pace ?? Pace(), groups: [group])
        do {
            try carryOut(release, to: addressee, &pacing, into: &batch)
        } catch {
            batch.cannotBeKept = error
        }
    }

    /// Carries out what has come due. Throws when the disk does not say what was held.
    func carryOut(
        _ release: Release,
        to addressee: Addressee,
        _ pacing: inout Pacing,
        into batch: inout Batch
    ) throws {
        guard let first = release.groups.first else { return }
        let (account, device) = (addressee.account, addressee.device)
        let id = deliveryID(first.event, device)
        var notification: Notification?
        // What the one that is left of several said is not known; it goes as a batch of one.
        if release.groups.count == 1, first.saysItself, !pacing.matches.isRest(first.event, of: device) {
            // What cannot be read any more says less.
            let held =
                try pacing.notification(of: first, device)
                ?? HeldNotification(.wake(first.signal, urgency: first.urgency))
            guard !first.isExpired(held.notification, at: batch.time) else {
                return note(.expired, of: first, for: device, reason: "while it was held", into: &batch)
            }
            notification = renewed(held, id: id, for: addressee)
        }
        if release.pace.isGathering {
            pacing.pacer.release(id, to: device, first.nature, release.pace, at: batch.time)
        }
        noteReleased(release.groups, and: nil, id, device, into: &batch)
        if let notification {
            deliver(
                notification,
                id: id,
                for: first.event,
                to: (account, device),
                addressee.route,
                reason: QueuedReason.held,
                into: &batch
            )
        } else {
            deliver(batchOf: release.groups, and: nil, id, to: addressee, into: &batch)
        }
    }

    /// What becomes of a group is said of all its members, who know the delivery they wait for and not each other.
    func note(
        _ step: PipelineStep,
        of group: HeldGroup,
        for device: DeviceID,
        reason: @autoclosure () -> String = "",
        into batch: inout Batch
    ) {
        batch.log.note(
            step,
            event: nil,
            account: group.account,
            device: device,
            delivery: deliveryID(group.event, device),
            reason: reason()
        )
    }

    /// All of these go as one push, under the first one's number. How many they are is told to all of them.
    private func noteReleased(
        _ groups: [HeldGroup],
        and match: PaceMatch?,
        _ delivery: String,
        _ device: DeviceID,
        into batch: inout Batch
    ) {
        let count = groups.reduce(match == nil ? 0 : 1) { $0 + Int($1.count) }
        for (number, group) in groups.enumerated() {
            if number == 0 {
                let size = QueuedReason.size(count, isLatest: group.mark != nil)
                note(.released, of: group, for: device, reason: size, into: &batch)
            } else {
                note(.joined, of: group, for: device, reason: delivery, into: &batch)
            }
        }
    }

    private func deliver(
        batchOf groups: [HeldGroup],
        and match: PaceMatch?,
        _ id: String,
        to addressee: Addressee,
        into batch: inout Batch
    ) {
        guard var sum = groups.first else { return }
        for group in groups.dropFirst() { sum.add(group) }
        if let match { sum.add(match) }
        var notification = rules[addressee.route.app].renderSummary(
            count: sum.count,
            signal: sum.signal,
            urgency: sum.urgency,
            mode: sum.nature == .silent ? .wake : min(sum.mode, addressee.mode),
            language: addressee.language,
            now: batch.time
        )
        if notification.mode == .sealed, !addressee.isSealedByTransport {
            notification = sealed(notification, id: id, for: addressee.device)
        }
        deliver(
            notification,
            id: id,
            for: sum.event,
            to: (addressee.account, addressee.device),
            addressee.route,
            reason: QueuedReason.batch + "\(sum.count)",
            into: &batch
        )
    }
}

extension HeldGroup {
    fileprivate func isExpired(_ notification: Notification, at now: Int64) -> Bool {
        [expiresAt, notification.expiresAt].contains { $0 > 0 && $0 <= now }
    }
}
