import Core
import Nostr
import Push
import Synchronization

/// Applies registrations, deregistrations and deletions to the store.
final class Registrations: Sendable {
    /// The result of reading one event, before the store is written.
    private enum Draft {
        case done(RegistrationResult)
        case register(RegistrationDraft)
        case deregister(RegistrationSlot, Event)
    }

    private let store: RegistryStore
    private let writer: RegistryWriter
    private let reader: RegistrationReader
    private let admission: DeviceRegistrar
    private let access: AccessControl
    private let now: @Sendable () -> Timestamp
    private let signers: Mutex<RateTable<PublicKey>>

    init(
        store: RegistryStore,
        writer: RegistryWriter,
        reader: RegistrationReader,
        admission: DeviceRegistrar,
        access: AccessControl,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.writer = writer
        self.reader = reader
        self.admission = admission
        self.access = access
        self.now = now
        let limits = reader.policy.limits
        signers = Mutex(
            RateTable(
                burst: limits.registrationBurst,
                perSecond: Double(limits.registrationsPerKeyPerHour) / 3600,
                capacity: 100_000
            )
        )
    }

    private var policy: RegistrationPolicy { reader.policy }

    /// Applies events in order, in one transaction, and returns one result for each. `listed` are those from allowed
    /// networks.
    func apply(_ events: [Event], listed: Set<EventID>) throws -> [RegistrationResult] {
        let now = now()
        let drafts = try drafts(of: events, listed: listed, now: now)
        guard drafts.contains(where: { if case .done = $0 { false } else { true } }) else {
            return drafts.compactMap { if case .done(let result) = $0 { result } else { nil } }
        }
        do {
            return try writer.change { rows, changes in
                try drafts.map { try settle($0, now: now, rows, &changes) }
            }
        } catch {
            // The clients will retry, so this attempt must not count against their limits.
            signers.withLock { signers in
                for case .register(let draft) in drafts { signers.giveBack(draft.event.pubkey) }
            }
            throw error
        }
    }

    /// Reads events without writing. Events that were accepted before are not decrypted. If an event is both invalid
    /// and outdated, its author learns about the invalid content first.
    private func drafts(of events: [Event], listed: Set<EventID>, now: Timestamp) throws -> [Draft] {
        let access = access.list
        let readings = events.map { event in
            let reading = policy.read(event, now: now)
            guard case .request(.register(_, let account)) = reading,
                let refusal = access.refusal(
                    ofRegistrationBy: event.pubkey,
                    for: account,
                    isListed: listed.contains(event.id)
                )
            else { return reading }
            return .done(.refused(refusal))
        }
        let weighed = try store.read { rows in
            try zip(events, readings).map { event, reading -> (RegistrationPolicy.Reading, late: RegistrationResult?) in
                guard case .request(let request) = reading else { return (reading, nil) }
                var state = try rows.state(of: request.slot, for: event.pubkey)
                // The limit of devices is checked during the write, because other events may remove devices until then.
                state.devices = 0
                switch policy.weigh(request, mark: SlotMark(event), against: state) {
                // A replay must not count against the author's registration limit.
                case .outdated: return (reading, late: .outdated)
                case let known?: return (.done(known), nil)
                case nil: break
                }
                // A deregistration is never refused.
                if case .deregister = request, state.isRegistered { return (reading, nil) }
                return (mayRegister(event.pubkey, now: now) ? reading : .done(.refused(tooManyRegistrations)), nil)
            }
        }
        return zip(events, weighed).map { event, weighed in
            switch weighed.0 {
            case .done(let result): return .done(result)
            case .request(.deregister(let slot)): return weighed.late.map { .done($0) } ?? .deregister(slot, event)
            case .request(.register(let slot, let account)):
                do throws(RegistrationError) {
                    let draft = try reader.draft(of: event, slot, account, arrivedAt: now)
                    return weighed.late.map { .done($0) } ?? .register(draft)
                } catch {
                    // The client will retry, so this attempt must not count against its limit.
                    if error.isTemporary, weighed.late == nil { signers.withLock { $0.giveBack(event.pubkey) } }
                    return .done(.refused(error))
                }
            }
        }
    }

    private func mayRegister(_ signer: PublicKey, now: Timestamp) -> Bool {
        signers.withLock { $0.take(signer, now: now) }
    }

    private var tooManyRegistrations: RegistrationError {
        .rateLimited("at most \(policy.limits.registrationsPerKeyPerHour) registrations of one key an hour")
    }

    private func settle(
        _ draft: Draft,
        now: Timestamp,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws -> RegistrationResult {
        switch draft {
        case .done(let result):
            return result
        case .deregister(let slot, let event):
            let mark = SlotMark(event)
            let state = try rows.state(of: slot, for: slot.author)
            if let result = policy.weigh(.deregister(slot), mark: mark, against: state) { return result }
            // An app that moved to another of the router's keys may afterwards end its registration with the former
            // key.
            if let registered = try rows.routerKey(ofDeviceIn: slot),
                registered != policy.keys.named(by: event.identifier)?.number
            {
                return .moved
            }
            try rows.clear(slot, leaving: mark, keeping: event, &changes)
            return .deregistered
        case .register(let draft):
            guard try draft.isDelegated && !rows.lists(draft.slot.author, for: draft.account, now: now) else {
                return try admission.admit(draft, now: now, rows, &changes)
            }
            var state = try rows.state(of: draft.slot, for: draft.account)
            // The account has not confirmed this device, so its number of devices does not matter yet.
            state.devices = 0
            let request = RegistrationPolicy.Request.register(draft.slot, account: draft.account)
            if let result = policy.weigh(request, mark: draft.mark, against: state) { return result }
            let json = String(decoding: draft.event.json, as: UTF8.self)
            changes.keys.formUnion(
                try rows.wait(
                    draft.slot,
                    root: draft.account,
                    draft.mark,
                    json: json,
                    arrivedAt: now,
                    limits: policy.limits
                )
            )
            changes.keys.insert(draft.account)
            return .waiting
        }
    }

    func apply(_ deletion: Deletion) throws -> Int? {
        let now = now()
        guard policy.isPlausible(deletion.createdAt, now: now) else { return nil }
        switch deletion.scope {
        case .events(let ids, let addresses):
            let held = try store.read { try $0.registrations(signedBy: deletion.author, policy.keys) }
            let ended = held.compactMap { registration -> (HeldRegistration, until: Int64?)? in
                let isOlder = registration.mark.createdAt <= deletion.createdAt
                if isOlder, !addresses.isDisjoint(with: self.addresses(of: registration)) {
                    return (registration, deletion.createdAt)
                }
                return ids.contains(registration.mark.id) ? (registration, nil) : nil
            }
            let absent = slots(at: addresses, of: deletion.author).subtracting(held.map(\.slot))
            let barred = absent.isEmpty || !mayRegister(deletion.author, now: now) ? [] : absent
            guard !ended.isEmpty || !barred.isEmpty else { return 0 }
            return try writer.change { rows, changes in
                for (registration, moment) in ended { try rows.end(registration, until: moment, &changes) }
                for slot in barred { try rows.bar(slot, until: deletion.createdAt) }
                return ended.count
            }
        case .everything:
            guard try store.readOnce({ try $0.hasRegistered(deletion.author) }) else { return 0 }
            return try writer.change { rows, changes in
                let ended = try
                    (rows.registrations(signedBy: deletion.author, policy.keys)
                    + rows.registrations(for: deletion.author, policy.keys))
                    .filter { $0.mark.createdAt <= deletion.createdAt }
                for registration in ended { try rows.end(registration, until: nil, &changes) }
                try rows.forget(deletion.author, until: deletion.createdAt, limits: policy.limits, &changes)
                return ended.count
            }
        }
    }

    /// Returns the addresses by which a deletion may name a registration. The address of a replaceable event has no `d`
    /// (NIP-01), although this one carries a `d`.
    private func addresses(of registration: HeldRegistration) -> Set<EventAddress> {
        let (slot, kind) = (registration.slot, registration.kind)
        let ours = registration.routerKey.hex
        let identifier = slot.deviceID.isEmpty ? ours : "\(ours):\(slot.deviceID)"
        let identifiers = kind == .pushRegistration ? [identifier, ""] : [identifier]
        return Set(identifiers.map { EventAddress(kind: kind, pubkey: slot.author, identifier: $0) })
    }

    /// Returns the slots that `addresses` name, if they are addresses of registrations with this router.
    private func slots(at addresses: Set<EventAddress>, of author: PublicKey) -> Set<RegistrationSlot> {
        var slots: Set<RegistrationSlot> = []
        for address in addresses where [.pushRegistration, .addressablePushRegistration].contains(address.kind) {
            guard let ours = policy.keys.named(by: address.identifier)?.key.hex else { continue }
            if address.identifier == ours { slots.insert(RegistrationSlot(author: author)) }
            guard address.identifier.hasPrefix(ours + ":") else { continue }
            let name = String(decoding: address.identifier.utf8.dropFirst(ours.utf8.count + 1), as: UTF8.self)
            guard (1...RegistrationSlot.deviceIDLimit).contains(name.utf8.count), Alphabet.name.spells(name) else {
                continue
            }
            slots.insert(RegistrationSlot(author: author, deviceID: name))
        }
        return slots
    }
}
