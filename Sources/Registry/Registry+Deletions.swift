import Nostr

/// Registrations that their authors take back by deleting them.
extension Registry {
    /// Whether something that `author` signed is registered here or waits, or whether it has an account here.
    package func hasRegistered(_ author: PublicKey) throws -> Bool {
        try store.readOnce { try $0.hasRegistered(author) }
    }

    /// Ends what a deletion takes back of its author's registrations; with everything, what other keys registered for
    /// that author ends too. Its signature must have been verified, and a request to vanish must be for us.
    ///
    /// Returns how many registrations ended; nil when the deletion is dated too far ahead to be taken.
    package func apply(_ deletion: Deletion) throws -> Int? {
        let now = now()
        guard deletion.createdAt >= 0, deletion.createdAt <= now / 1000 + desk.limits.secondsAhead else { return nil }
        switch deletion.scope {
        case .events(let ids, let addresses):
            let held = try store.read { try $0.registrations(signedBy: deletion.author) }
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
            return try change { rows, changes in
                for (registration, moment) in ended { try rows.end(registration, until: moment, &changes) }
                for slot in barred { try rows.bar(slot, until: deletion.createdAt) }
                return ended.count
            }
        case .everything:
            guard try hasRegistered(deletion.author) else { return 0 }
            return try change { rows, changes in
                let ended = try
                    (rows.registrations(signedBy: deletion.author) + rows.registrations(for: deletion.author))
                    .filter { $0.mark.createdAt <= deletion.createdAt }
                for registration in ended { try rows.end(registration, until: nil, &changes) }
                try rows.forget(deletion.author, until: deletion.createdAt, limits: desk.limits, &changes)
                return ended.count
            }
        }
    }

    /// Where a registration is found. A replaceable event has no `d` in its address (NIP-01), though this one carries
    /// one.
    private func addresses(of registration: HeldRegistration) -> Set<EventAddress> {
        let (slot, kind) = (registration.slot, registration.kind)
        let ours = identity.publicKey.hex
        let identifier = slot.deviceID.isEmpty ? ours : "\(ours):\(slot.deviceID)"
        let identifiers = kind == .pushRegistration ? [identifier, ""] : [identifier]
        return Set(identifiers.map { EventAddress(kind: kind, pubkey: slot.author, identifier: $0) })
    }

    /// The slots that addresses of registrations with this router name.
    private func slots(at addresses: Set<EventAddress>, of author: PublicKey) -> Set<RegistrationSlot> {
        let ours = identity.publicKey.hex
        var slots: Set<RegistrationSlot> = []
        for address in addresses where [.pushRegistration, .addressablePushRegistration].contains(address.kind) {
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
