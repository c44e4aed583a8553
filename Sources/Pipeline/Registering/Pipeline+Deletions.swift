import Nostr
import Registry
import Storage

/// What authors take back: registrations, notes that notifications may speak of, and events that wait for a device's
/// time.
extension Pipeline {
    /// Of so many events and addresses it is looked up whether anything is kept of them.
    private static let namesLookedAt = 100

    /// Whether a deletion is worth a signature check: something is kept that it may take back. When that cannot be
    /// told, it is.
    func wantsDeletion(_ scanned: ScannedEvent, in json: UnsafeRawBufferPointer) -> Bool {
        guard let event = try? Event(scanned: scanned, in: json), let deletion = Deletion(event) else { return true }
        if (try? registry.hasRegistered(event.pubkey)) ?? true { return true }
        switch deletion.scope {
        case .everything:
            return isForUs(deletion) && context.knows(profileOf: event.pubkey)
        case .events(let ids, let addresses):
            // It may come before the registration that it takes back.
            if event.values(of: "k").contains(where: Self.registrationKinds.contains) { return true }
            if addresses.contains(where: { $0.identifier.hasPrefix(registry.ourKey.hex) }) { return true }
            return ids.prefix(Self.namesLookedAt).contains { id in
                pacing.matches.contains(id) || parking.contains(id) || context.authors(of: id)?.first == event.pubkey
            }
        }
    }

    /// Takes a deletion (NIP-09) or a request to vanish (NIP-62).
    func forget(by event: Event, into batch: inout Batch) {
        guard let deletion = Deletion(event), isForUs(deletion) else {
            return batch.stop(.unaddressed, EventVerdict(id: event.id, .accepted))
        }
        begin(event, into: &batch)
        let ended: Int
        do {
            guard let count = try registry.apply(deletion) else {
                let message = MachineReadablePrefix.invalid.message(
                    "created_at: expected a time that is not ahead of now"
                )
                return batch.end(event.id, .deleted, .refused(message), account: event.pubkey)
            }
            ended = count
        } catch {
            registryTrouble.occurred(error, at: batch.time)
            return batch.end(event.id, .notKept, Batch.notKept, account: event.pubkey)
        }
        if ended > 0 { registryTrouble.passed(at: batch.time) }
        updateIndex()
        deletions.insert(deletion)
        withdraw(deletion, into: &batch)
        switch deletion.scope {
        case .everything:
            if ended > 0 || context.knows(profileOf: deletion.author) {
                context.forget(everythingBy: deletion.author, until: deletion.createdAt)
            }
        case .events:
            context.forget(deletion)
        }
        batch.log.note(
            .deleted,
            event: event.id,
            account: ended > 0 ? event.pubkey : nil,
            reason: ended > 0 ? "registrations ended: \(ended)" : "its author took events back"
        )
        batch.finish(event.id)
    }

    /// Takes what was deleted out of what waits for devices' times.
    private func withdraw(_ deletion: Deletion, into batch: inout Batch) {
        for id in deletion.ids {
            guard let match = pacing.matches.take(id) else { continue }
            guard (match.author ?? context.authors(of: id)?.first) == deletion.author else {
                pacing.matches.putBack(match, id)
                continue
            }
            for place in match.places {
                guard let held = pacing.pacer[place.device]?.heldGroup(of: place.first),
                    pacing.matches.isSaid(id, by: held, at: place),
                    let group = pacing.pacer.withdraw(fromGroupOf: place.first, of: place.device)
                else { continue }
                if group.mark == nil, group.count == 2 { pacing.matches.noteRest(place) }
                batch.log.note(
                    .deleted,
                    event: id,
                    account: group.account,
                    device: place.device,
                    delivery: deliveryID(group.event, place.device),
                    reason: "while it was held"
                )
            }
        }
    }

    /// Whether an event need not be told, for its author took it back before it came.
    func isDeleted(_ event: Event) -> Bool { deletions.contains(event) }

    private func isForUs(_ deletion: Deletion) -> Bool {
        guard case .everything(let relays) = deletion.scope else { return true }
        return relays.contains { $0 == Deletion.allRelays || doors.isOurRelay($0) }
    }

    private static let registrationKinds: Set<String> = [
        "\(Kind.pushRegistration.rawValue)", "\(Kind.addressablePushRegistration.rawValue)",
    ]
}
