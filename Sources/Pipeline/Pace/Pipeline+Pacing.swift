import Delivery
import Nostr
import Notifications
import Registry

/// Devices whose time has come, and what happens outside that matters to their pace.
extension Pipeline {
    /// Brings the index up to date, the pacer with it, and what is kept of names and notes.
    func updateIndex() {
        if registry.update(&index, each: { pacing.take($0) }) > 0 { updateContextDemand() }
    }

    /// Wakes those whose time has come.
    func releaseDue(into batch: inout Batch) {
        let (policy, outbox) = (pacing.policy, pacing.outbox)
        let releases = pacing.pacer.takeDue(at: batch.time, limit: Pacing.releasesPerBatch) { device, group in
            let signal = index.signals[group.signal]
            // Of what no rule raises any more nobody could say that they want it.
            guard !signal.isEmpty, let entry = index.device(device, of: group.account) else { return true }
            return !entry.signals.isDisjoint(with: signal)
        } takesRoom: { device, account in
            guard let entry = index.device(device, of: account), let route = index.route(entry.route) else {
                return true
            }
            return outbox.takesRoom(for: device, route)
        } wish: { device, account in
            guard let entry = index.device(device, of: account) else { return nil }
            let platform = index.route(entry.route)?.platform ?? ""
            // Who may be woken at any time by now waits no longer.
            return Pacing.pace(of: device, on: platform, in: index, by: policy) ?? Pace()
        }
        do {
            for release in releases {
                guard let account = release.groups.first?.account,
                    let addressee = addressees.addressee(release.device, of: account, in: index)
                else { continue }
                try addressees.carryOut(release, to: addressee, &pacing, into: &batch)
            }
        } catch {
            batch.cannotBeKept = error
        }
    }

    /// Says of what waits what its pacer alone has found out: which groups are one now, which are not
    /// told, and which were of devices that are no more.
    func notePace(into batch: inout Batch) {
        for merge in pacing.pacer.merges {
            pacing.matches.merge(merge.group.event, into: merge.into, of: merge.device)
            addressees.note(
                .joined,
                of: merge.group,
                for: merge.device,
                reason: deliveryID(merge.into, merge.device),
                into: &batch
            )
        }
        for (device, groups) in pacing.pacer.forgotten {
            for group in groups { addressees.note(.left, of: group, for: device, into: &batch) }
        }
        for dropped in pacing.pacer.dropped {
            addressees.note(
                dropped.step,
                of: dropped.group,
                for: dropped.device,
                reason: dropped.reason,
                into: &batch
            )
        }
    }

    /// Decides by other defaults and bounds from the next batch on.
    package func follow(_ policy: PacingPolicy?) {
        pacing.follow(policy)
    }
}
