import Logging
import Nostr
import Registry
import Rules
import Storage

/// From the accounts that an event names to the deliveries for their devices.
extension Pipeline {
    /// Makes the deliveries of an event that set out. If what their texts speak of is not at hand and there is room, the event
    /// waits for it instead; `waitingAt` is where its verdict belongs and how many bytes it has, nil when it has waited.
    func route(
        _ event: Event,
        to accounts: Set<AccountNumber>,
        from source: EventSource,
        waitingAt place: (AnswerPlace, size: Int)?,
        into batch: inout Batch
    ) {
        guard !event.isExpired(at: batch.time / 1000) else { return batch.end(event.id, .expired, .accepted) }
        guard !isDeleted(event) else { return batch.end(event.id, .deleted, .accepted) }
        do {
            let list = contactList(event, naming: accounts)
            let plans = try plans(for: event, to: accounts, from: source, list: list, batch)
            if let (place, size) = place, try park(event, from: source, at: place, size, lacking: plans, into: &batch) {
                return
            }
            // What takes the disk comes first: it may fail.
            let sessions = try plans.map { try filterSession(for: $0, of: event, at: batch.time) }
            let others = batch.woken
            let heldBefore = batch.paced
            for (plan, session) in zip(plans, sessions) { carryOut(plan, of: event.id, session, into: &batch) }
            if batch.paced > heldBefore { pacing.matches.sign(event.id, by: event.pubkey) }
            // Two days of gift wraps are read again after a restart. What woke nobody now must not then.
            if batch.woken > others || event.kind.isGiftWrap { batch.causes.append(event.id) }
            if let list { batch.contactLists.append(list) }
            batch.finish(event.id)
        } catch {
            registryTrouble.occurred(error, at: batch.time)
            batch.end(event.id, .notKept, Batch.notKept)
        }
    }

    /// A zap is told once: a receipt can be made of somebody's public request by anybody, and as often as they like.
    private func carryOut(
        _ plan: AddressingPlan,
        of event: EventID,
        _ session: FilterSession?,
        into batch: inout Batch
    ) {
        var plan = plan
        if let request = plan.concern?.zap?.request, !plan.targets.isEmpty {
            guard !gate.remembers(request), !batch.zapRequests.contains(request) else {
                return batch.log.note(
                    .duplicate,
                    event: event,
                    account: plan.account,
                    reason: "the zap was told before"
                )
            }
            plan = passing(plan, of: event, session, into: &batch)
            if !plan.targets.isEmpty {
                batch.zapRequests.insert(request)
                batch.causes.append(request)
            }
        } else {
            plan = passing(plan, of: event, session, into: &batch)
        }
        addressees.carryOut(plan, of: event, context: &context, pacing: &pacing, session: session, into: &batch)
    }

    /// Takes note of an event that was there before anybody listened: it wakes nobody. A gift wrap or contact list does not
    /// later either; of others the date tells.
    func rememberOnly(_ event: Event, to accounts: Set<AccountNumber>, into batch: inout Batch) {
        let list = contactList(event, naming: accounts)
        guard event.kind.isGiftWrap || list != nil else {
            // A copy from elsewhere may be news, also in this batch.
            return batch.stop(.baseline, EventVerdict(id: event.id, .accepted))
        }
        begin(event, into: &batch)
        do {
            if let list {
                try follows.catchUp()
                batch.contactLists.append(list)
                batch.baselineLists.append(event.id)
            } else {
                batch.causes.append(event.id)
            }
            batch.log.note(.baseline, event: event.id)
            batch.finish(event.id)
        } catch {
            registryTrouble.occurred(error, at: batch.time)
            batch.end(event.id, .notKept, Batch.notKept)
        }
    }

    private func plans(
        for event: Event,
        to accounts: Set<AccountNumber>,
        from source: EventSource,
        list: ContactList?,
        _ batch: Batch
    ) throws -> [AddressingPlan] {
        let newsSince = batch.time / 1000 - source.slownessOfClocks
        let newFollows = try list.map { list in
            try follows.new(in: list, seen: source.contactListSighting, earlier: batch.contactLists)
        }
        let reading = EventReading(event)
        let facts = EventFacts(event)
        let root = event.value(of: "root_identity").flatMap { PublicKey(hex: $0) }
        return try accounts.compactMap { account in
            guard let key = index.key(of: account) else { return nil }
            if try isOwn(event, speakingFor: root, of: key, from: source) { return .nobody(.own, of: key) }
            if let newFollows, !newFollows.contains(key) { return .nobody(.knownFollow, of: key) }
            let plan = try addressees.plan(
                event,
                reading,
                facts,
                to: account,
                key,
                newsSince: newsSince,
                index: index,
                pacing: pacing.policy,
                context: &context,
                isFollowed: registry.isFollowed(_:by:)
            )
            if let zap = plan.concern?.zap, try registry.speaks(zap.sender, for: key) { return .nobody(.own, of: key) }
            return plan
        }
    }

    /// Whether the account itself is behind an event. Nobody but the publisher can tell that of a gift wrap, of which one goes
    /// to its author too (NIP-17): who signed in on our socket is believed.
    private func isOwn(
        _ event: Event,
        speakingFor root: PublicKey?,
        of account: PublicKey,
        from source: EventSource
    ) throws -> Bool {
        if try registry.isOwn(event.pubkey, speakingFor: root, of: account, in: index) { return true }
        guard event.kind.isGiftWrap, case .socket(let authenticated) = source else { return false }
        return try authenticated.contains { try registry.speaks($0, for: account) }
    }

    private func contactList(_ event: Event, naming accounts: Set<AccountNumber>) -> ContactList? {
        guard event.kind == .contactList else { return nil }
        let named = accounts.compactMap { index.key(of: $0) }
        return ContactList(author: event.pubkey, named: named, createdAt: event.createdAt)
    }
}

extension EventSource {
    fileprivate var contactListSighting: ContactListSighting {
        switch self {
        case .socket: .direct
        case .feed, .relay(.live), .relay(.stored): .relay
        case .relay(.baseline), .relay(.fetched): .baseline
        }
    }
}
