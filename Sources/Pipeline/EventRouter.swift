import Core
import Delivery
import Logging
import Nostr
import Registry
import Storage

/// Takes events through the stages. ``admit(_:_:)`` and ``route(_:waitingAt:_:)`` show their order. Must be used from
/// one thread.
///
///     bytes → gate → matcher → context → filters → pacing → composer
///               └ registry: registrations, lists, deletions
final class EventRouter {
    private var gate: Gate
    private let lookahead: SignatureLookahead
    private var registry: RegistryStage
    private var deletions: Deletions
    private var context: ContextStage
    private var handedOver: HandedOverEvents
    private var accounts: AccountStage
    private let dependencies: PipelineDependencies
    /// Logs that the registry cannot be read or written.
    private let trouble: ErrorLog

    /// Loads the index of `registry` and the stored paces. If `feed` is given, only its accounts are loaded. Throws if
    /// the disk cannot be read.
    init(
        _ settings: PipelineSettings,
        _ registry: Registry,
        feed: IndexFeed?,
        intake: Intake,
        _ storage: PipelineStorage,
        _ dependencies: PipelineDependencies
    ) throws {
        let now = dependencies.now()
        let trouble = ErrorLog(
            "The registry could not be read or written; events that need it are refused",
            logger: dependencies.logger
        )
        let stage = try RegistryStage(registry, feed: feed, settings, dependencies.remoteSigner, trouble: trouble)
        deletions = Deletions(
            try storage.paceStore?.withdrawals() ?? [],
            registry: registry,
            // The pipeline that ended the registrations passes deletions on to a partition's pipeline.
            endsRegistrations: feed == nil,
            isOurRelay: dependencies.isOurRelay,
            trouble: trouble
        )
        gate = Gate(purposes: Purposes(settings, stage.lists, dependencies, keys: stage.keys))
        for id in storage.accepted { gate.remember(id) }
        lookahead = SignatureLookahead(threads: dependencies.threads)
        context = try ContextStage(
            settings,
            dependencies.contextFetcher,
            intake: intake,
            logger: dependencies.logger
        )
        handedOver = HandedOverEvents(to: dependencies.owners, intake: intake)
        accounts = AccountStage(settings, registry, feed: feed, storage, dependencies, trouble: trouble)
        try accounts.load(stage.index, at: now)
        context.follow(stage.index)
        dependencies.screen?.open(stage.index, gate.purposes, following: stage.changes)
        self.registry = stage
        self.dependencies = dependencies
        self.trouble = trouble
    }

    // MARK: The gate

    /// Takes submissions through the gate and the stages after it. `following` are the submissions of the next call,
    /// `number` is the number of the first submission, for its answer. `beat` is called before each submission.
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
                let verification = place < ahead.count ? ahead[place] : nil
                place += 1
                json.withUnsafeBytes {
                    // The router signed its own events.
                    admit($0, submission.isOurs ? .valid : verification, from: submission.source, at: answer, &batch)
                }
            }
        }
        settleRegistrations(&batch)
    }

    /// Reads the next events, and starts to check their signatures on other threads.
    private func lookAhead(at submissions: [Submission], _ now: Timestamp) {
        lookahead.begin(submissions) { json, source in
            guard let event = json.withUnsafeBytes({ try? gate.scanner.scan($0) }) else { return nil }
            return gate.expectsCheck(event, from: source, index: registry.index, now: now) ? event : nil
        }
    }

    private func admit(
        _ json: UnsafeRawBufferPointer,
        _ verification: Verification?,
        from source: EventSource,
        at place: AnswerPlace,
        _ batch: inout OpenBatch
    ) {
        do throws(EventError) {
            let scanned = try gate.scanner.scan(json)
            let event = IncomingEvent(
                scanned: scanned,
                json: json,
                source: source,
                place: place,
                verification: verification
            )
            admit(event, &batch)
        } catch {
            batch.stop(.malformed, EventDecision(id: nil, .refused(MachineReadablePrefix.invalid.message(error))))
        }
    }

    /// Takes an event through the gate, and to the stages that handle it.
    private func admit(_ incoming: IncomingEvent, _ batch: inout OpenBatch) {
        let purpose = gate.purposes[incoming.scanned.kind]
        if registry.mustSettle(before: incoming.scanned.kind, isRecipientList: purpose == .recipientList) {
            settleRegistrations(&batch)
        }
        let isWanted = wants(incoming, for: purpose, at: batch.time)
        let result = gate.judge(incoming, index: registry.index, isListWanted: isWanted, now: batch.time)
        lookahead.note(isChecked: result.isChecked)
        switch result {
        case .stopped(let step, let decision): batch.stop(step, decision)
        case .repeated(let id): addCopy(of: id, at: incoming.place, &batch)
        case .fetched(let event): learn(fetched: event, &batch)
        case .registration(let event):
            begin(event, &batch)
            let isDeleted = deletions.contains(event)
            let outcome = registry.add(registration: event, isDeleted: isDeleted, from: incoming.source)
            if let outcome { batch.note(outcome) }
        case .list(let event):
            begin(event, &batch)
            registry.add(list: event)
        case .deletion(let event): delete(by: event, incoming, &batch)
        case .request(let event): answer(event, from: incoming.source, &batch)
        case .hint(let event, let named):
            begin(event, &batch)
            let hint = AddressedEvent(event: event, accounts: named, source: incoming.source)
            batch.note(
                handedOver.handOver(hint, at: incoming.place, in: registry.index)
                    ?? accounts.wake(by: hint, in: registry.index, &context.cache, &batch.effects)
            )
        case .unaddressed(let scanned):
            if context.cache.isWorthLearning(scanned.kind), let event = try? Event(scanned: scanned, in: incoming.json)
            {
                learn(event, at: batch.time)
            }
            batch.stop(.unaddressed, EventDecision(id: scanned.id, .accepted))
        case .recipientList(let event, let named):
            if named.isEmpty {
                learn(event, at: batch.time)
                begin(event, &batch)
            } else {
                take(event, named, incoming, &batch)
            }
            registry.add(recipientList: event, isAddressed: !named.isEmpty)
        case .addressed(let event, let named): take(event, named, incoming, &batch)
        }
    }

    /// Whether a list or a deletion is worth a signature check.
    private func wants(_ incoming: IncomingEvent, for purpose: Purposes.Purpose, at now: Timestamp) -> Bool {
        guard purpose == .deletion else { return registry.wants(incoming.scanned, for: purpose) }
        let author = incoming.scanned.pubkey
        // Other owners may have stored events that never came here.
        return deletions.isWanted(incoming, at: now) {
            handedOver.isInUse || holds($0, by: author)
        } isAuthorKnown: {
            knows(author)
        }
    }

    /// Starts a verified event. More copies of it wait for its result.
    private func begin(_ event: Event, _ batch: inout OpenBatch) {
        gate.hold(event.id)
        batch.decisions.begin(event.id)
    }

    private func addCopy(of id: EventID, at place: AnswerPlace, _ batch: inout OpenBatch) {
        if batch.decisions.contains(id) {
            batch.effects.log.note(.duplicate, id)
            batch.decisions.addCopy(id)
        } else if context.waiting.join(id, at: place) || handedOver.join(id, at: place) {
            batch.effects.log.note(.duplicate, id)
            batch.decisions.addCopy(ofWaiting: id)
        } else {
            batch.stop(.notKept, EventDecision(id: id, .notKept))
        }
    }

    // MARK: To accounts

    private func take(
        _ event: Event,
        _ named: [AccountNumber],
        _ incoming: IncomingEvent,
        _ batch: inout OpenBatch
    ) {
        if registry.hasRecipientLists { settleRegistrations(&batch) }
        learn(event, at: batch.time)
        let addressed = AddressedEvent(event: event, accounts: named, source: incoming.source)
        if incoming.source.mayWake {
            begin(event, &batch)
            batch.note(route(addressed, waitingAt: (incoming.place, incoming.json.count), &batch))
        } else if event.kind.isGiftWrap || event.kind == .contactList {
            // It predates the router's subscription, so it must not notify a device later either.
            begin(event, &batch)
            batch.note(
                handedOver.handOver(addressed, at: incoming.place, in: registry.index)
                    ?? accounts.takeBaseline(addressed, in: registry.index, &batch.effects)
            )
        } else {
            // Other events are recognised by their dates. A copy from elsewhere may be new, even in this batch.
            batch.stop(.baseline, EventDecision(id: event.id, .accepted))
        }
    }

    /// Takes a verified event through the stages for accounts. If `place` and size are given, it may wait for the
    /// events and profiles that its texts refer to; nil means that it has waited already.
    private func route(
        _ addressed: AddressedEvent,
        waitingAt place: (AnswerPlace, size: Int)?,
        _ batch: inout OpenBatch
    ) -> EventOutcome {
        let event = addressed.event
        if event.isExpired(at: batch.time.seconds) {
            return EventOutcome(event: event.id, end: .stopped(.accepted), step: .expired)
        }
        if deletions.contains(event) {
            return EventOutcome(event: event.id, end: .stopped(.accepted), step: .deleted)
        }
        if let place, let outcome = handedOver.handOver(addressed, at: place.0, in: registry.index) { return outcome }
        if accounts.isOutdated(event) {
            let reason = StepReason.outdated.rawValue
            return EventOutcome(event: event.id, end: .finished(.accepted), step: .duplicate, reason: reason)
        }
        do {
            let plans = try accounts.matcher.plan(addressed, in: registry.index, &context.cache, at: batch.time)
            if let place, try context.wait(for: plans, of: addressed, at: place, &accounts.filters, batch.time) {
                return EventOutcome(event: event.id, end: .waits, step: .waiting)
            }
            // Disk reads come first because they may fail.
            let sessions = try accounts.filters.sessions(for: plans, of: event, at: batch.time)
            accounts.push(plans, of: addressed, sessions, accepted: gate.accepted, &context.cache, &batch.effects)
            accounts.matcher.remember(addressed, in: registry.index)
            return EventOutcome(event: event.id, end: .finished(.accepted))
        } catch {
            trouble.occurred(error, at: batch.time)
            return .notKept(event.id)
        }
    }

    // MARK: Context

    private func learn(_ event: Event, at now: Timestamp) {
        if !deletions.contains(event) { context.learn(event, at: now) }
    }

    /// Handles an event that was requested, by this router or by the reader of relay and device lists.
    private func learn(fetched event: Event, _ batch: inout OpenBatch) {
        guard event.kind != .relayList, event.kind != .deviceList else {
            guard batch.decisions.contains(event.id) else {
                begin(event, &batch)
                return registry.add(list: event)
            }
            // Several relays have it.
            batch.effects.log.note(.duplicate, event.id)
            return batch.decisions.addCopy(event.id)
        }
        if gate.purposes[event.kind] == .recipientList, registry.wants(fetched: event) {
            registry.add(recipientList: event, isAddressed: true)
        }
        if event.kind == .contactList {
            context.found(accounts.filters.settle(by: event, at: batch.time))
        }
        if !deletions.contains(event) { context.cache.learn(fetched: event, at: batch.time) }
        context.found(event, at: batch.time)
        batch.stop(.fetched, EventDecision(id: event.id, .accepted))
    }

    /// Continues with events that stopped waiting. They are matched again, because accounts may have changed since.
    private func resume(_ events: [WaitingEvent], _ batch: inout OpenBatch) {
        for waiting in events {
            batch.decisions.resume(waiting)
            let event = waiting.event
            var hits: [MatchHit] = []
            event.mentionedKeys.map(\.bytes).withUnsafeBufferPointer { registry.index.match($0, into: &hits) }
            let accounts = hits.accounts(for: event.kind)
            let addressed = AddressedEvent(event: event, accounts: accounts, source: waiting.source)
            batch.note(route(addressed, waitingAt: nil, &batch))
        }
    }

    // MARK: To the registry

    /// Writes a series of registrations or lists to the registry. They apply from the next event on, even within a
    /// batch.
    private func settleRegistrations(_ batch: inout OpenBatch) {
        guard let settlement = registry.settle(at: batch.time) else { return }
        for outcome in settlement.outcomes { batch.note(outcome) }
        batch.retract(settlement.notKept)
        for list in settlement.lists { context.found(list: list, &accounts.filters, at: batch.time) }
        updateIndex()
    }

    /// Answers a request. It is finished then, even if the answer is an error.
    private func answer(_ request: Event, from source: EventSource, _ batch: inout OpenBatch) {
        begin(request, &batch)
        dependencies.remoteSigner?.receive(request, from: source) { event in
            let isDeleted = deletions.contains(event)
            let outcome = registry.register(event, isDeleted: isDeleted, from: source, at: dependencies.now())
            updateIndex()
            batch.effects.log.note(outcome)
            guard case .stopped(let result) = outcome.end else { return .accepted }
            return result
        }
        batch.note(EventOutcome(event: request.id, end: .finished(.accepted), step: .request))
    }

    /// Applies a deletion to registrations, to stored context, and to held events.
    private func delete(by event: Event, _ incoming: IncomingEvent, _ batch: inout OpenBatch) {
        guard let deletion = deletions.read(event) else {
            return batch.stop(.unaddressed, EventDecision(id: event.id, .accepted))
        }
        begin(event, &batch)
        switch deletions.apply(deletion, by: event, at: batch.time) {
        case .failed(let outcome): batch.note(outcome)
        case .applied(let ended):
            updateIndex()
            let concernsAny =
                ended > 0 || incoming.source.isAnswered || knows(event.pubkey)
                || deletion.ids.contains { holds($0, by: event.pubkey) }
            accounts.withdraw(deletion, &context.cache, &batch.effects)
            switch deletion.scope {
            case .everything where ended == 0 && !context.cache.knows(profileOf: deletion.author): break
            default: context.cache.forget(deletion)
            }
            let isHandedOver = handedOver.handOver(deletion: event, from: incoming.source, at: incoming.place)
            let outcome = EventOutcome(
                event: event.id,
                end: isHandedOver ? .waits : .finished(.accepted),
                // Only the owner that holds the event knows whether it was taken back.
                step: isHandedOver && ended == 0 ? nil : concernsAny ? .deleted : .unaddressed,
                account: ended > 0 ? event.pubkey : nil,
                reason: ended > 0
                    ? "registrations ended: \(ended)" : concernsAny ? StepReason.tookBack.rawValue : ""
            )
            batch.note(outcome)
        }
    }

    /// Whether a deletion by `author` may take back an event that is stored here.
    private func holds(_ id: EventID, by author: PublicKey) -> Bool {
        accounts.pacing.holds(id) || context.holds(id, by: author)
    }

    /// Whether anything by `author` may be stored.
    private func knows(_ author: PublicKey) -> Bool {
        accounts.hasPushed(author) || context.cache.knows(profileOf: author)
    }

    // MARK: Batches

    /// Starts a batch. `ends` are the results of deliveries.
    func begin(at now: Timestamp, _ ends: [CompletedPush]) {
        updateIndex()
        context.begin()
        accounts.pacing.begin(at: now, ends)
    }

    /// Continues with events released by fetches, other owners or time, and sends due pushes. Completes the batch's
    /// effects.
    func resume(_ arrivals: Arrivals, _ batch: inout OpenBatch) {
        for number in arrivals.endedFetches {
            let isAnswered = !arrivals.unansweredFetches.contains(number)
            context.endFetch(number, isAnswered: isAnswered, &accounts.filters, at: batch.time)
        }
        for (event, isKept) in arrivals.endedHandOvers { handedOver.end(event, isKept: isKept, &batch) }
        resume(context.waiting.takeReady(at: batch.time), &batch)
        accounts.releaseDue(in: registry.index, &batch.effects)
        accounts.complete(&batch.effects)
    }

    /// Ends all waiting. Called once, at shutdown.
    func endWaiting(_ batch: inout OpenBatch) {
        updateIndex()
        resume(context.waiting.takeAll(), &batch)
        handedOver.endAll(&batch)
        accounts.complete(&batch.effects)
    }

    /// Ends a batch. `isKept` is whether the disk took it.
    func conclude(_ batch: inout OpenBatch, isKept: Bool) {
        accounts.conclude(isKept: batch.effects.pace == nil ? nil : isKept, at: batch.time)
        let hasLists = accounts.matcher.follows.conclude(isKept: isKept)
        let (done, open) = batch.conclude(isKept: isKept, hasLists: hasLists)
        for id in done { gate.remember(id) }
        for id in open { gate.release(id) }
        if isKept { for request in batch.effects.zapRequests { gate.remember(request) } }
    }

    /// Saves what the batch learned, and asks relays for the context that its events started to wait for.
    func rest(at now: Timestamp) { context.rest(at: now) }

    /// Closes the context after everything is written. Called once, at shutdown.
    func end(at now: Timestamp) { context.cache.close(at: now) }

    /// The timeout for waiting for more events; nil means no limit.
    func timeout(at now: Timestamp) -> Duration? {
        [context.waiting.timeout(at: now), accounts.pacing.timeout(at: now)].compactMap(\.self).min()
    }

    /// The number of devices with held pushes.
    var waitingDevices: Int { accounts.pacing.waitingDevices }

    /// The number of events that wait for context or for other owners.
    var waitingEvents: Int { context.waiting.count + handedOver.count }

    /// Whether other owners still owe answers.
    var hasPendingHandovers: Bool { handedOver.count > 0 }

    // MARK: Between batches

    /// Switches from the `old` settings to `new` ones. Throws, and keeps the old ones, if the registry cannot be read.
    /// Limits on events that wait for context stay as they were at the start.
    func adopt(_ new: PipelineSettings, insteadOf old: PipelineSettings) throws {
        let hasOtherLists = try registry.adopt(new, insteadOf: old) { apply($0) }
        accounts.adopt(new, hasOtherPacing: new.pacing != old.pacing)
        context.adopt(new, in: registry.index, hasOtherLists: hasOtherLists)
        gate.purposes = Purposes(new, registry.lists, dependencies, keys: registry.keys)
        dependencies.screen?.follow(gate.purposes)
        registry.removeUnreadLists(at: dependencies.now())
    }

    /// Updates the index, and everything that depends on it.
    private func updateIndex() {
        guard registry.update(each: { apply($0) }) else { return }
        context.follow(registry.index)
        dependencies.screen?.refresh(from: registry.index)
    }

    private func apply(_ change: IndexChange) {
        accounts.pacing.apply(change)
        dependencies.screen?.apply(change)
    }
}
