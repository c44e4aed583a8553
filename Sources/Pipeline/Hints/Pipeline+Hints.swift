import Logging
import Nostr
import Notifications
import Registry
import Storage

/// Wake-up hints of partners (seed 004 section 6): they wake, and say that the partner is alive.
extension Pipeline {
    /// Whatever becomes of it, its sender is told that it was taken: who is whose partner is nobody's business.
    func wake(on event: Event, _ hits: [MatchHit], into batch: inout Batch) {
        begin(event, into: &batch)
        let accounts = Set(hits.map(\.account))
        guard accounts.count <= WakeUpHint.accountLimit, let hint = WakeUpHint(event),
            hints.isFresh(hint.createdAt, at: batch.time)
        else {
            return batch.end(event.id, .hintStale, .accepted)
        }
        do {
            let others = batch.woken
            for account in accounts {
                try wake(account, on: hint, event.id, event.pubkey, into: &batch)
            }
            if batch.woken > others { batch.causes.append(event.id) }
            batch.finish(event.id)
        } catch {
            registryTrouble.occurred(error, at: batch.time)
            batch.end(event.id, .notKept, Batch.notKept)
        }
    }

    private func wake(
        _ account: AccountNumber,
        on hint: WakeUpHint,
        _ id: EventID,
        _ author: PublicKey,
        into batch: inout Batch
    ) throws {
        guard let key = index.key(of: account) else { return }
        let partnered = try registry.partners(of: key).filter { $0.value.contains(hint.partner) }
        guard !partnered.isEmpty, try registry.speaks(author, for: hint.partner) else {
            return batch.log.note(.hintUnproven, event: id, account: key)
        }
        doors.hintObserver?.heard(account: key, partner: hint.partner, at: batch.time)
        guard hints.admits(hint.partner, for: key, at: batch.time) else {
            return batch.log.note(.hintLimited, event: id, account: key)
        }
        let wanted = index.signals[hint.signal]
        let notification = Notification.wake(hint.signal, urgency: hint.signal == .dm ? .high : .normal)
        let match = PaceMatch(
            event: id,
            signal: hint.signal,
            mode: .wake,
            urgency: notification.urgency,
            expiresAt: 0,
            nature: .silent
        )
        index.forEachDevice(of: account) { device in
            guard partnered[device.device] != nil,
                let addressee = addressees.addressee(device.device, of: key, in: index)
            else { return }
            guard !device.signals.isDisjoint(with: wanted) else {
                return batch.log.note(
                    .unwanted,
                    event: id,
                    account: key,
                    device: device.device,
                    reason: hint.signal.rawValue
                )
            }
            addressees.wake(
                addressee,
                for: match,
                at: pacing.pace(of: device.device, on: addressee.route.platform, in: index),
                &pacing,
                reason: "hint",
                into: &batch
            ) { _ in notification }
        }
    }
}
