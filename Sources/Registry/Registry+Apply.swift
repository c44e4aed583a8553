import Nostr
import Notifications

extension Registry {
    /// What one event came to before the store is written to.
    private enum Draft {
        case done(RegistrationResult)
        case register(RegistrationSlot, RegistrationContent)
        case deregister(RegistrationSlot)
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
        return try store.write { rows -> ([RegistrationResult], [IndexChange]) in
            var results: [RegistrationResult] = []
            var changes: [IndexChange] = []
            for (event, draft) in zip(events, drafts) {
                results.append(try settle(draft, event, now: now, rows, &changes))
            }
            return (results, changes)
        } afterwards: {
            mailbox.post($0.1)
        }.0
    }

    /// Reads events as far as that needs no writing. What was known already is not even decrypted.
    private func drafts(of events: [Event], now: Int64) throws -> [Draft] {
        let readings = events.map { desk.read($0, now: now) }
        let weighed = try store.read { rows in
            try zip(events, readings).map { event, reading in
                guard case .request(let request) = reading else { return reading }
                var state = try rows.state(of: request.slot)
                // Devices may yet go while this batch is written; the limit is judged then.
                state.devices = 0
                return desk.weigh(request, mark: SlotMark(event), against: state).map { .done($0) } ?? reading
            }
        }
        return zip(events, weighed).map { event, reading in
            switch reading {
            case .done(let result): return .done(result)
            case .request(.deregister(let slot)): return .deregister(slot)
            case .request(.register(let slot)):
                do throws(RegistrationRefusal) {
                    let content = try open(event)
                    try validate(content.address(registeredAt: now))
                    return .register(slot, content)
                } catch {
                    return .done(.refused(error))
                }
            }
        }
    }

    private func open(_ event: Event) throws(RegistrationRefusal) -> RegistrationContent {
        let json: String
        do {
            let key = try ConversationKey(secret: identity.secret, public: event.pubkey)
            json = try NIP44.decryptText(event.content, key: key, limit: RegistrationLimits.payload)
        } catch {
            throw .invalid("content: expected NIP-44 version 2, encrypted to \(identity.publicKey.hex)")
        }
        return try RegistrationContent(json: json)
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
        _ event: Event,
        now: Int64,
        _ rows: RegistryRows,
        _ changes: inout [IndexChange]
    ) throws -> RegistrationResult {
        let mark = SlotMark(event)
        switch draft {
        case .done(let result):
            return result
        case .deregister(let slot):
            if let result = desk.weigh(.deregister(slot), mark: mark, against: try rows.state(of: slot)) {
                return result
            }
            changes += try rows.clear(slot, leaving: mark, keeping: event)
            return .deregistered
        case .register(let slot, let content):
            let handle = vault.handle(of: content.token)
            let ruling = desk.rule(
                on: try rows.holders(of: handle, outside: slot),
                mark: mark,
                shared: content.shared,
                now: now
            )
            var state = try rows.state(of: slot)
            if case .take(let holders) = ruling { state.devices -= holders.count { $0.slot.account == slot.account } }
            if let result = desk.weigh(.register(slot), mark: mark, against: state) { return result }
            guard case .take(let holders) = ruling else {
                changes += try rows.clear(slot, leaving: mark)
                return .outdated
            }
            for holder in holders { changes.append(try rows.evict(holder)) }
            let device = try put(content, handle, event, in: slot, now: now, rows)
            changes.append(.put(device))
            return state.isRegistered ? .updated(device.device) : .registered(device.device)
        }
    }

    private func put(
        _ content: RegistrationContent,
        _ handle: [UInt8],
        _ event: Event,
        in slot: RegistrationSlot,
        now: Int64,
        _ rows: RegistryRows
    ) throws -> IndexedDevice {
        // Later than any address handed out for the slot before, even if a client's clock went back.
        let earlier = try rows.device(in: slot)?.registeredAt ?? -1
        let registeredAt = max(earlier + 1, min(event.createdAt * 1000, now))
        let address = content.address(registeredAt: registeredAt)
        let route = Route(platform: content.platform, app: content.app)
        let known = SignalNames()
        let row = DeviceRow(
            slot: slot,
            mark: SlotMark(event),
            registeredAt: registeredAt,
            route: try rows.number(of: route),
            mode: content.mode,
            signals: known.set(of: content.signals),
            furtherSignals: content.signals.filter { known[$0].isEmpty }.sorted { $0.rawValue < $1.rawValue }
        )
        let device = try rows.put(row)
        try rows.putSecrets(
            of: device,
            handle: handle,
            address: try vault.seal(AddressCodec.encode(address), of: device, for: .address),
            content: try vault.seal(Array(content.json.utf8), of: device, for: .content)
        )
        try rows.putEvent(event, in: slot)
        return IndexedDevice(
            account: slot.account,
            device: device,
            registeredAt: registeredAt,
            signals: row.signals,
            furtherSignals: row.furtherSignals,
            mode: row.mode,
            route: route,
            routeID: row.route
        )
    }
}
