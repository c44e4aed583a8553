import Nostr
import Notifications
import RateLimits
import Synchronization

extension Registry {
    /// What one event came to before the store is written to.
    private enum Draft {
        case done(RegistrationResult)
        case register(RegistrationDraft)
        case deregister(RegistrationSlot, Event)
    }

    /// Takes a registration event (seed 004, kind 10062 or 30062) whose signature was verified.
    package func apply(_ event: Event) throws -> RegistrationResult {
        try apply([event]).first ?? .notForUs
    }

    /// Takes events in their order, in one transaction. Answers with as many results.
    package func apply(_ events: [Event]) throws -> [RegistrationResult] {
        let now = now()
        let drafts = try drafts(of: events, now: now)
        guard drafts.contains(where: { if case .done = $0 { false } else { true } }) else {
            return drafts.compactMap { if case .done(let result) = $0 { result } else { nil } }
        }
        do {
            return try change { rows, changes in
                try drafts.map { try settle($0, now: now, rows, &changes) }
            }
        } catch {
            // They will come again, and must not be refused for that.
            signers.withLock { signers in
                for case .register(let draft) in drafts { signers.giveBack(draft.event.pubkey) }
            }
            throw error
        }
    }

    /// Writes, and tells of it.
    func change<Value>(_ body: (RegistryRows, inout RegistryChanges) throws -> Value) throws -> Value {
        let (value, changes) = try store.write { rows in
            var changes = RegistryChanges()
            let value = try body(rows, &changes)
            return (value, changes)
        } afterwards: {
            let changes = $0.1
            addresses.withLock { $0.forget(changes.devices) }
            sealingKeys.withLock { $0.forget(changes.devices) }
            let left = changes.leftAccounts
            if !left.isEmpty {
                followedCache.withLock { $0.forget(left) }
                recipientLists.withLock { $0.forget(accounts: left) }
            }
            mailbox.post(changes.index)
        }
        if !changes.keys.isEmpty { changed(changes.keys) }
        for code in changes.codes { pushCode(code) }
        return value
    }

    /// Reads events as far as that needs no writing. An event that was taken before is not even decrypted; of every
    /// other one that cannot be taken its author first learns what is wrong with it, and then that it comes too late.
    private func drafts(of events: [Event], now: Int64) throws -> [Draft] {
        let readings = events.map { desk.read($0, now: now) }
        let weighed = try store.read { rows in
            try zip(events, readings).map { event, reading -> (RegistrationDesk.Reading, late: RegistrationResult?) in
                guard case .request(let request) = reading else { return (reading, nil) }
                var state = try rows.state(of: request.slot, for: event.pubkey)
                // Devices may yet go while this batch is written; the limit is judged then.
                state.devices = 0
                switch desk.weigh(request, mark: SlotMark(event), against: state) {
                // A replay must not use up what its author may register.
                case .outdated: return (reading, late: .outdated)
                case let known?: return (.done(known), nil)
                case nil: break
                }
                // Nobody is kept from leaving.
                if case .deregister = request, state.isRegistered { return (reading, nil) }
                return (mayRegister(event.pubkey, now: now) ? reading : .done(.refused(tooManyRegistrations)), nil)
            }
        }
        return zip(events, weighed).map { event, weighed in
            switch weighed.0 {
            case .done(let result): return .done(result)
            case .request(.deregister(let slot)): return weighed.late.map { .done($0) } ?? .deregister(slot, event)
            case .request(.register(let slot, let account)):
                do throws(RegistrationRefusal) {
                    let draft = try draft(of: event, slot, account, arrivedAt: now)
                    return weighed.late.map { .done($0) } ?? .register(draft)
                } catch {
                    return .done(.refused(error))
                }
            }
        }
    }

    func mayRegister(_ signer: PublicKey, now: Int64) -> Bool {
        signers.withLock { $0.take(signer, now: now) }
    }

    private var tooManyRegistrations: RegistrationRefusal {
        .rateLimited("at most \(desk.limits.registrationsPerKeyPerHour) registrations of one key an hour")
    }

    /// Opens a registration and checks what is in it.
    func draft(
        of event: Event,
        _ slot: RegistrationSlot,
        _ account: PublicKey,
        arrivedAt: Int64
    ) throws(RegistrationRefusal) -> RegistrationDraft {
        let content = try open(event)
        try validate(content.address(registeredAt: arrivedAt))
        return RegistrationDraft(event: event, slot: slot, account: account, content: content, arrivedAt: arrivedAt)
    }

    private func open(_ event: Event) throws(RegistrationRefusal) -> RegistrationContent {
        let json: String
        do {
            let key = try ConversationKey(secret: identity.secret, public: event.pubkey)
            json = try NIP44.decryptText(event.content, key: key, limit: RegistrationLimits.payload)
        } catch {
            throw .invalid("content: expected NIP-44 version 2, encrypted to \(identity.publicKey.hex)")
        }
        let content = try RegistrationContent(json: json, zones, checkingSignals: checkSignal)
        if case .named(let zone) = content.quiet?.zone, !zone.isKnown {
            throw .invalid("registration field `quiet.tz`: expected \(QuietZone.expected)")
        }
        return content
    }

    private func validate(_ address: DeviceAddress) throws(RegistrationRefusal) {
        do {
            try check(address)
        } catch let refusal as RegistrationRefusal {
            throw refusal
        } catch {
            throw .invalid("platform \(address.platform) does not take this registration")
        }
    }

    private func settle(
        _ draft: Draft,
        now: Int64,
        _ rows: RegistryRows,
        _ changes: inout RegistryChanges
    ) throws -> RegistrationResult {
        switch draft {
        case .done(let result):
            return result
        case .deregister(let slot, let event):
            let mark = SlotMark(event)
            let state = try rows.state(of: slot, for: slot.author)
            if let result = desk.weigh(.deregister(slot), mark: mark, against: state) { return result }
            try rows.clear(slot, leaving: mark, keeping: event, &changes)
            return .deregistered
        case .register(let draft):
            guard try draft.isDelegated && !rows.lists(draft.slot.author, for: draft.account, now: now) else {
                return try admit(draft, now: now, rows, &changes)
            }
            var state = try rows.state(of: draft.slot, for: draft.account)
            // Nobody's devices are counted for what is nobody's yet.
            state.devices = 0
            let request = RegistrationDesk.Request.register(draft.slot, account: draft.account)
            if let result = desk.weigh(request, mark: draft.mark, against: state) { return result }
            let json = String(decoding: draft.event.json, as: UTF8.self)
            changes.keys.formUnion(
                try rows.wait(
                    draft.slot,
                    root: draft.account,
                    draft.mark,
                    json: json,
                    arrivedAt: now,
                    limits: desk.limits
                )
            )
            changes.keys.insert(draft.account)
            return .waiting
        }
    }
}
