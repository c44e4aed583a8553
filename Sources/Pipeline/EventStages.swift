import Delivery
import Nostr
import Registry
import Units

/// The way of an event through the stages. Belongs to one thread.
///
///     bytes → gate → accounts: matcher → context → filters → pacing → composer
///               └ registry: registrations, lists, deletions
final class EventStages {
    private var gate: Gate
    private let lookahead: SignatureLookahead
    private var registry: RegistryStage
    private var accounts: AccountStages
    private let dependencies: PipelineDependencies
    private let now: @Sendable () -> Timestamp

    /// So many `threads` check signatures at a time.
    init(
        _ gate: Gate,
        _ registry: consuming RegistryStage,
        _ accounts: AccountStages,
        threads: Int,
        _ dependencies: PipelineDependencies,
        now: @escaping @Sendable () -> Timestamp
    ) {
        self.gate = gate
        lookahead = SignatureLookahead(threads: threads)
        dependencies.screen?.open(registry.index, gate.purposes, following: registry.changes)
        self.registry = registry
        self.accounts = accounts
        self.dependencies = dependencies
        self.now = now
    }

    // MARK: The gate

    /// Reads events whose turn is next, and begins to check their signatures on other threads.
    private func lookAhead(at submissions: [Submission], _ now: Timestamp) {
        lookahead.begin(submissions) { json, source, named in
            guard let event = json.withUnsafeBytes({ try? gate.scan($0) }) else { return nil }
            named += gate.scannedValues
            return (event, gate.expectsCheck(event, from: source, index: registry.index, now: now))
        }
    }

    /// Takes submissions through the gate and on, `following` next time. `number` is the first one's, for its answer;
    /// `beat` is called before each.
    func admit(
        _ submissions: [Submission],
        before following: [Submission]?,
        from number: Int,
        _ batch: inout OpenBatch,
        beat: () -> Void
    ) {
        if !lookahead.hasBegun { lookAhead(at: submissions, batch.time) }
        let ahead = lookahead.take()
        var place = 0
        if let following { lookAhead(at: following, batch.time) }
        for (offset, submission) in submissions.enumerated() {
            beat()
            for (position, json) in submission.events.enumerated() {
                let answer = AnswerPlace(submission: number + offset, position: position)
                let known = ahead[place]
                place += 1
                json.withUnsafeBytes {
                    admit($0, known, isOurs: submission.isOurs, from: submission.source, at: answer, &batch)
                }
            }
        }
        settleRegistrations(&batch)
    }

    /// `known` is what is known of the event before its turn. Whatever is ours is what we signed.
    private func admit(
        _ json: UnsafeRawBufferPointer,
        _ known: EventsAhead.Event?,
        isOurs: Bool,
        from source: EventSource,
        at place: AnswerPlace,
        _ batch: inout OpenBatch
    ) {
        let scanned: ScannedEvent
        if let read = known?.scanned {
            scanned = read.event
            gate.recall(read.named)
        } else {
            do throws(EventError) {
                scanned = try gate.scan(json)
            } catch {
                let message = MachineReadablePrefix.invalid.message(error)
                return batch.stop(.malformed, EventVerdict(id: nil, .refused(message)))
            }
        }
        let verdict = isOurs ? .valid : known?.verdict
        let purpose = gate.purposes[scanned.kind]
        if registry.mustSettle(before: scanned.kind, isRecipientList: purpose == .recipientList) {
            settleRegistrations(&batch)
        }
        let isListWanted = registry.wants(scanned, for: purpose, in: json, at: batch.time) {
            accounts.handsOver || accounts.holds($0, by: scanned.pubkey)
        } isAuthorKnown: {
            accounts.knows(scanned.pubkey)
        }
        let result = gate.judge(
            scanned,
            in: json,
            verdict,
            from: source,
            index: registry.index,
            isListWanted: isListWanted,
            now: batch.time
        )
        lookahead.note(isChecked: result.isChecked)
        switch result {
        case .stopped(let step, let verdict): batch.stop(step, verdict)
        case .repeated(let id): addCopy(of: id, at: place, &batch)
        case .fetched(let event): learn(fetched: event, &batch)
        case .registration(let event): register(event, from: source, &batch)
        case .list(let event): take(list: event, &batch)
        case .deletion(let event): delete(by: event, from: source, at: place, &batch)
        case .request(let event): answer(event, from: source, &batch)
        case .hint(let event, let accounts):
            begin(event, &batch)
            let hint = AddressedEvent(event: event, accounts: accounts, source: source)
            self.accounts.take(hint: hint, at: place, in: registry.index, &batch)
        case .unaddressed(let scanned):
            if accounts.isWorthLearning(scanned.kind), let event = try? Event(scanned: scanned, in: json) {
                learn(event, at: batch.time)
            }
            batch.stop(.unaddressed, EventVerdict(id: scanned.id, .accepted))
        case .recipientList(let event, let accounts):
            if accounts.isEmpty {
                learn(event, at: batch.time)
                begin(event, &batch)
            } else {
                take(event, accounts, from: source, at: place, json.count, &batch)
            }
            registry.add(recipientList: event, isAddressed: !accounts.isEmpty)
        case .addressed(let event, let accounts):
            take(event, accounts, from: source, at: place, json.count, &batch)
        }
    }

    /// A verified event sets out; further copies of it wait for how it ends.
    private func begin(_ event: Event, _ batch: inout OpenBatch) {
        gate.hold(event.id)
        batch.verdicts.begin(event.id)
    }

    private func addCopy(of id: EventID, at place: AnswerPlace, _ batch: inout OpenBatch) {
        if batch.verdicts.contains(id) {
            batch.effects.log.note(.duplicate, id)
            batch.verdicts.addCopy(id)
        } else if accounts.join(id, at: place) {
            batch.effects.log.note(.duplicate, id)
            batch.verdicts.addCopy(ofWaiting: id)
        } else {
            batch.stop(.notKept, EventVerdict(id: id, .notKept))
        }
    }

    // MARK: To accounts

    private func take(
        _ event: Event,
        _ named: [AccountNumber],
        from source: EventSource,
        at place: AnswerPlace,
        _ size: Int,
        _ batch: inout OpenBatch
    ) {
        if registry.hasRecipientLists { settleRegistrations(&batch) }
        learn(event, at: batch.time)
        let addressed = AddressedEvent(event: event, accounts: named, source: source)
        guard source.mayWake else { return takeBaseline(addressed, at: place, &batch) }
        begin(event, &batch)
        accounts.take(addressed, waitingAt: (place, size), in: registry, &batch) { gate.remembers($0) }
    }

    /// An event that was there before anybody listened wakes nobody. A gift wrap or a contact list does not later
    /// either; others are recognised by their dates.
    private func takeBaseline(_ addressed: AddressedEvent, at place: AnswerPlace, _ batch: inout OpenBatch) {
        let event = addressed.event
        guard event.kind.isGiftWrap || event.kind == .contactList else {
            // A copy from elsewhere may be new, also in this batch.
            return batch.stop(.baseline, EventVerdict(id: event.id, .accepted))
        }
        begin(event, &batch)
        accounts.takeBaseline(addressed, at: place, in: registry.index, &batch)
    }

    private func learn(_ event: Event, at now: Timestamp) {
        if !registry.isDeleted(event) { accounts.learn(event, at: now) }
    }

    /// An event that was asked for, by us or by the reader of lists of relays and devices.
    private func learn(fetched event: Event, _ batch: inout OpenBatch) {
        guard event.kind != .relayList, event.kind != .deviceList else {
            guard batch.verdicts.contains(event.id) else { return take(list: event, &batch) }
            // Several relays have it.
            batch.effects.log.note(.duplicate, event.id)
            return batch.verdicts.addCopy(event.id)
        }
        if gate.purposes[event.kind] == .recipientList, registry.wants(fetched: event) {
            registry.add(recipientList: event, isAddressed: true)
        }
        accounts.learn(fetched: event, isDeleted: registry.isDeleted(event), at: batch.time)
        batch.stop(.fetched, EventVerdict(id: event.id, .accepted))
    }

    // MARK: To the registry

    private func register(_ event: Event, from source: EventSource, _ batch: inout OpenBatch) {
        begin(event, &batch)
        if let outcome = registry.add(registration: event, from: source) { batch.note(outcome) }
    }

    private func take(list event: Event, _ batch: inout OpenBatch) {
        begin(event, &batch)
        registry.add(list: event)
    }

    /// Brings a row of registrations or lists to the registry. It counts for the very next event, also of the same
    /// batch.
    private func settleRegistrations(_ batch: inout OpenBatch) {
        guard let settlement = registry.settle(at: batch.time) else { return }
        for outcome in settlement.outcomes { batch.note(outcome) }
        batch.retract(settlement.notKept)
        for list in settlement.lists { accounts.found(list: list, at: batch.time) }
        updateIndex()
    }

    /// A request is done with when it is answered, whatever the answer says.
    private func answer(_ request: Event, from source: EventSource, _ batch: inout OpenBatch) {
        begin(request, &batch)
        registry.signer?.receive(request, from: source) { event in
            let outcome = registry.register(carried: event, from: source, at: now())
            updateIndex()
            batch.effects.log.note(outcome)
            guard case .stopped(let result) = outcome.end else { return .accepted }
            return result
        }
        batch.note(EventOutcome(event: request.id, end: .finished(.accepted), step: .request))
    }

    /// Takes a deletion: of registrations, of what notifications may show, and of events that wait for a device's time.
    private func delete(
        by event: Event,
        from source: EventSource,
        at place: AnswerPlace,
        _ batch: inout OpenBatch
    ) {
        guard let deletion = registry.deletion(event) else {
            return batch.stop(.unaddressed, EventVerdict(id: event.id, .accepted))
        }
        begin(event, &batch)
        switch registry.apply(deletion, by: event, at: batch.time) {
        case .failed(let outcome): batch.note(outcome)
        case .applied(let ended):
            updateIndex()
            let concernsAny =
                ended > 0 || source.isAnswered || accounts.knows(event.pubkey)
                || deletion.ids.contains { accounts.holds($0, by: event.pubkey) }
            accounts.withdraw(deletion, ended: ended, &batch)
            let isHandedOver = accounts.handOver(deletion: event, from: source, at: place)
            let outcome = EventOutcome(
                event: event.id,
                end: isHandedOver ? .waits : .finished(.accepted),
                // Whether it takes an event back is known to the owner who holds that.
                step: isHandedOver && ended == 0 ? nil : concernsAny ? .deleted : .unaddressed,
                account: ended > 0 ? event.pubkey : nil,
                reason: ended > 0
                    ? "registrations ended: \(ended)" : concernsAny ? StepReason.tookBack.rawValue : ""
            )
            batch.note(outcome)
        }
    }

    // MARK: Batches

    /// Begins a batch. `ends` are ends of deliveries.
    func begin(at now: Timestamp, _ ends: [PushEnd]) {
        updateIndex()
        accounts.begin(at: now, ends)
    }

    /// Takes further what waited: for fetches, for other owners, or for a device's time.
    func goOn(_ arrivals: Arrivals, _ batch: inout OpenBatch) {
        accounts.goOn(arrivals, in: registry, &batch) { gate.remembers($0) }
    }

    /// Ends all waiting. Once, at the end.
    func endWaiting(_ batch: inout OpenBatch) {
        updateIndex()
        accounts.endWaiting(in: registry, &batch) { gate.remembers($0) }
    }

    /// Ends a batch. `keep` puts all that it leads to on disk, or returns false.
    func conclude(_ batch: inout OpenBatch, keep: (Effects) -> Bool) {
        accounts.close(&batch.effects)
        let isKept = keep(batch.effects)
        let hasLists = accounts.conclude(isKept: batch.effects.pace == nil ? nil : isKept, at: batch.time)
        let (done, open) = batch.conclude(isKept: isKept, hasLists: hasLists)
        for id in done { gate.remember(id) }
        for id in open { gate.release(id) }
        if isKept { for request in batch.effects.zapRequests { gate.remember(request) } }
    }

    /// After a batch: keeps what was learned, and asks relays for what its events began to wait for.
    func rest(at now: Timestamp) { accounts.rest(at: now) }

    /// Everything is written. Once, at the end.
    func end(at now: Timestamp) { accounts.end(at: now) }

    func patience(at now: Timestamp) -> Duration? { accounts.patience(at: now) }

    var waitingDevices: Int { accounts.waitingDevices }
    var waitingEvents: Int { accounts.waitingEvents }
    var awaitsOwners: Bool { accounts.awaitsOwners }

    // MARK: Between batches

    /// Decides by `new` in place of `old` from now on. Throws, and keeps the old ones, when the registry cannot be
    /// read.
    func adopt(_ new: PipelineSettings, inPlaceOf old: PipelineSettings) throws {
        let hasOtherLists = try registry.adopt(new, inPlaceOf: old) { apply($0) }
        accounts.adopt(
            new,
            hasOtherPacing: new.pacing != old.pacing,
            hasOtherLists: hasOtherLists,
            in: registry.index
        )
        gate.follow(Purposes(new, registry.recipientLists, dependencies, keys: registry.keys))
        dependencies.screen?.follow(gate.purposes)
        registry.removeUnreadLists(at: now())
    }

    /// Brings the index up to date, and what depends on it.
    private func updateIndex() {
        guard registry.update(each: { apply($0) }) else { return }
        accounts.follow(registry.index)
        dependencies.screen?.refresh(from: registry.index)
    }

    private func apply(_ change: IndexChange) {
        accounts.apply(change)
        dependencies.screen?.apply(change)
    }
}
