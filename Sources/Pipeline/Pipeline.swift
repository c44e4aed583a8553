import Delivery
import Foundation
import Logging
import Nostr
import Notifications
import Registry
import Rules
import Storage
import Units

/// The way of an event, every stage in its order. Belongs to one thread.
///
///     bytes → gate → partition: matcher → context → filters → pacing → composer → one transaction on disk → answers
///               └ registrations, lists, deletions: to the registry
///
/// Events come in batches. What a batch leads to is kept in one transaction, and its senders are answered after that:
/// an OK means that nothing is lost. An event that lacks a name or a note waits for it beyond its batch, unanswered.
package final class Pipeline {
    /// The source of events, and of the ends of fetches.
    let intake: Intake
    /// Beats while events are worked on, so that others can tell work from being stuck.
    package let heartbeat = PipelineProgress()
    package let gauges = PipelineGauges()
    /// The rules, filters, defaults and the like that are in force.
    private(set) var settings: PipelineSettings

    private let registry: Registry
    private let dependencies: PipelineDependencies
    private let recorder: BatchRecorder
    private let now: @Sendable () -> Timestamp

    private var gate: Gate
    private let lookahead: SignatureLookahead
    private var index: MatchIndex
    private var context: EventContext
    private var demand: ContextDemand
    private var registrations: Registrations
    private var deletions: Deletions
    private var partition: Partition
    private var handedOver = HandedOverEvents()
    /// The accounts that this pipeline is for; nil: all.
    private let feed: IndexFeed?
    private var answers = Answers()

    /// Loads the index of `registry`, which this pipeline owns from now on, and takes events from `intake`. `accepted`
    /// are events that were accepted before this process began. `feed`: only what concerns its accounts is this
    /// pipeline's. `deliveryID` names a delivery, the same for the same
    /// event and device. `keep` puts deliveries on disk, with the events that shall wake no device again
    /// (``Effects/causes``) and the changes of paces, and starts the courier, or throws. So many `threads` check
    /// signatures at a time. Throws when the registry cannot be read.
    package init(
        settings: PipelineSettings,
        registry: Registry,
        intake: Intake,
        dependencies: PipelineDependencies = PipelineDependencies(),
        accepted: [EventID] = [],
        feed: IndexFeed? = nil,
        threads: Int = ProcessInfo.processInfo.activeProcessorCount,
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> String,
        keep: @escaping ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void,
        now: @escaping @Sendable () -> Timestamp,
        observer: any PipelineObserver,
        logger: Logger
    ) throws {
        self.settings = settings
        self.intake = intake
        self.registry = registry
        self.dependencies = dependencies
        self.now = now
        self.feed = feed
        recorder = BatchRecorder(keep: keep, observer: observer, logger: logger)
        let trouble = FailureLog(
            "The registry cannot be read or written; what needs it is not accepted",
            logger: logger
        )
        let lists = RecipientLists(settings, EventFilters(settings.filters), registry: registry)
        lookahead = SignatureLookahead(threads: threads)
        gate = Gate(purposes: Purposes(settings, lists, dependencies, keys: registry.keys.names))
        index = try registry.load(
            signals: Array(settings.rules.namedSignals),
            languages: settings.rules.languages,
            from: feed
        )
        context = try EventContext(settings, logger: logger)
        demand = ContextDemand(settings)
        registrations = Registrations(
            registry: registry,
            signer: dependencies.remoteSigner,
            recipientLists: lists,
            trouble: trouble
        )
        deletions = Deletions(registry: registry, isOurRelay: dependencies.isOurRelay, trouble: trouble)
        partition = Partition(
            settings: settings,
            registry: registry,
            feed: feed,
            dependencies: dependencies,
            deliveryID: deliveryID,
            trouble: trouble,
            now: now
        )
        try lists.removeUnread()
        try partition.load(index, at: now())
        updateContextDemand()
        for id in accepted { gate.remember(id) }
    }

    /// Works on what arrived, in its order. A submission is answered when everything that any event of the batch wakes
    /// is kept, and when none of its own waits any longer.
    package func process(_ arrivals: Arrivals) {
        heartbeat.beat()
        updateIndex()
        var batch = OpenBatch(recorder.begin(at: now()))
        partition.begin(at: batch.time, arrivals.ends)
        // What is known of the signatures of the next events.
        var known: ArraySlice<Verification?> = []
        for (offset, submission) in arrivals.submissions.enumerated() {
            heartbeat.beat()
            for (position, json) in submission.events.enumerated() {
                if known.isEmpty, lookahead.isWorthwhile {
                    known = verifyAhead(arrivals.submissions[offset...], from: position, at: batch.time)[...]
                }
                let place = AnswerPlace(submission: answers.next + offset, position: position)
                let verdict = known.popFirst() ?? nil
                json.withUnsafeBytes { admit($0, verdict, from: submission.source, at: place, &batch) }
            }
        }
        settleRegistrations(&batch)
        endFetches(arrivals, at: batch.time)
        endHandOvers(arrivals.endedHandOvers, &batch)
        for waiting in partition.takeReady(at: batch.time) { resume(waiting, &batch) }
        partition.releaseDue(in: index, &batch.effects)
        conclude(&batch, answering: arrivals.submissions)
        context.keep(at: batch.time)
        fetchContext()
        gauges.set(waitingDevices: partition.waitingDevices, waitingEvents: partition.waitingEvents + handedOver.count)
        intake.awaitEnds(partition.waitingDevices > 0)
    }

    /// How long events may be waited for; nil: without limit.
    package var patience: Duration? { partition.patience(at: now()) }

    /// Ends all waiting: events that wait for context go on without it, and everything is written. Once, at the end.
    package func finish() {
        updateIndex()
        var batch = OpenBatch(recorder.begin(at: now()))
        for waiting in partition.takeReady(at: nil) { resume(waiting, &batch) }
        endHandOvers(handedOver.takeAll(), isKept: false, &batch)
        conclude(&batch, answering: [])
        context.close(at: batch.time)
    }

    // MARK: The gate

    /// Checks the signatures of the next events that name accounts, on all cores. `position` is the first event's in
    /// the first of `submissions`.
    private func verifyAhead(
        _ submissions: ArraySlice<Submission>,
        from position: Int,
        at now: Timestamp
    ) -> [Verification?] {
        var candidates: [SignatureLookahead.Candidate] = []
        // A copy of an event that comes again shares the verdict of the first if that is right.
        var ids: Set<EventID> = []
        var verdicts: [Verification?] = []
        var first = position
        for submission in submissions {
            for json in submission.events[first...] {
                guard verdicts.count < SignatureLookahead.window else { break }
                let place = verdicts.count
                verdicts.append(nil)
                let event = json.withUnsafeBytes { try? gate.scan($0) }
                guard let event, gate.expectsCheck(event, from: submission.source, index: index, now: now),
                    ids.insert(event.id).inserted
                else { continue }
                candidates.append(SignatureLookahead.Candidate(place: place, event: event, json: json))
            }
            guard verdicts.count < SignatureLookahead.window else { break }
            first = 0
        }
        lookahead.verify(candidates, into: &verdicts)
        return verdicts
    }

    private func admit(
        _ json: UnsafeRawBufferPointer,
        _ verdict: Verification?,
        from source: EventSource,
        at place: AnswerPlace,
        _ batch: inout OpenBatch
    ) {
        let scanned: ScannedEvent
        do throws(EventError) {
            scanned = try gate.scan(json)
        } catch {
            let message = MachineReadablePrefix.invalid.message(error)
            return batch.stop(.malformed, EventVerdict(id: nil, .refused(message)))
        }
        let purpose = gate.purposes[scanned.kind]
        if registrations.mustSettle(before: scanned.kind, isRecipientList: purpose == .recipientList) {
            settleRegistrations(&batch)
        }
        let result = gate.judge(
            scanned,
            in: json,
            verdict,
            from: source,
            index: index,
            isListWanted: isWanted(scanned, for: purpose, in: json),
            now: batch.time
        )
        lookahead.note(isChecked: result.isChecked)
        switch result {
        case .stopped(let step, let verdict): batch.stop(step, verdict)
        case .repeated(let id): addCopy(of: id, at: place, &batch)
        case .fetched(let event): learn(fetched: event, &batch)
        case .registration(let event): register(event, from: source, &batch)
        case .list(let event): take(list: event, &batch)
        case .deletion(let event): delete(by: event, &batch)
        case .request(let event): answer(event, from: source, &batch)
        case .hint(let event, let hits):
            begin(event, &batch)
            let hint = AddressedEvent(event: event, accounts: Set(hits.map(\.account)), source: source)
            batch.note(
                handOver(hint, at: place) ?? partition.take(hint: hint, in: index, &context, &batch.effects)
            )
        case .unaddressed(let scanned):
            if context.isWorthLearning(scanned.kind), let event = try? Event(scanned: scanned, in: json) {
                learn(event, at: batch.time)
            }
            batch.stop(.unaddressed, EventVerdict(id: scanned.id, .accepted))
        case .recipientList(let event, let hits):
            if hits.isEmpty {
                learn(event, at: batch.time)
                begin(event, &batch)
            } else {
                take(event, hits, from: source, at: place, json.count, &batch)
            }
            registrations.add(recipientList: event, isAddressed: !hits.isEmpty)
        case .addressed(let event, let hits):
            take(event, hits, from: source, at: place, json.count, &batch)
        }
    }

    /// Whether a list or a deletion is worth a signature check.
    private func isWanted(
        _ scanned: ScannedEvent,
        for purpose: Purposes.Purpose,
        in json: UnsafeRawBufferPointer
    ) -> Bool {
        switch purpose {
        case .list: registrations.wantsLists(of: scanned.pubkey, in: index)
        case .recipientList:
            registrations.recipientLists.wants(
                scanned.kind,
                of: scanned.pubkey,
                in: index,
                SlotMark(createdAt: scanned.createdAt, id: scanned.id)
            )
        case .deletion:
            deletions.isWanted(scanned, in: json) { id in
                partition.holds(id) || context.authors(of: id)?.first == scanned.pubkey
            } isProfileKept: {
                context.knows(profileOf: scanned.pubkey)
            }
        default: false
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
        } else if partition.join(id, at: place) || handedOver.join(id, at: place) {
            batch.effects.log.note(.duplicate, id)
            batch.verdicts.addCopy(ofWaiting: id)
        } else {
            batch.stop(.notKept, EventVerdict(id: id, .notKept))
        }
    }

    // MARK: Events that name accounts

    private func take(
        _ event: Event,
        _ hits: [MatchHit],
        from source: EventSource,
        at place: AnswerPlace,
        _ size: Int,
        _ batch: inout OpenBatch
    ) {
        if registrations.hasRecipientLists { settleRegistrations(&batch) }
        learn(event, at: batch.time)
        let addressed = AddressedEvent(event: event, accounts: Set(hits.map(\.account)), source: source)
        guard source.mayWake else { return takeBaseline(addressed, at: place, &batch) }
        begin(event, &batch)
        route(addressed, waitingAt: (place, size), &batch)
    }

    /// Accounts may have come and gone while the event waited, so it is matched again.
    private func resume(_ waiting: WaitingEvent, _ batch: inout OpenBatch) {
        batch.verdicts.resume(waiting)
        let event = waiting.event
        var hits: [MatchHit] = []
        event.mentionedKeys.map(\.bytes).withUnsafeBufferPointer { index.match($0, into: &hits) }
        let accounts = Set(hits.lazy.filter { $0.counts(for: event.kind) }.map(\.account))
        let addressed = AddressedEvent(event: event, accounts: accounts, source: waiting.source)
        route(addressed, waitingAt: nil, &batch)
    }

    private func route(
        _ addressed: AddressedEvent,
        waitingAt place: (AnswerPlace, size: Int)?,
        _ batch: inout OpenBatch
    ) {
        let event = addressed.event
        let outcome =
            if event.isExpired(at: batch.time.seconds) {
                EventOutcome(event: event.id, end: .stopped(.accepted), step: .expired)
            } else if deletions.contains(event) {
                EventOutcome(event: event.id, end: .stopped(.accepted), step: .deleted)
            } else if let place, let outcome = handOver(addressed, at: place.0) {
                outcome
            } else {
                partition.take(addressed, waitingAt: place, in: index, &context, &batch.effects) { gate.remembers($0) }
            }
        batch.note(outcome)
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
        batch.note(handOver(addressed, at: place) ?? partition.takeBaseline(addressed, in: index, &batch.effects))
    }

    // MARK: Other owners

    /// Asks the owners of the accounts' partitions to keep an event; nil: all accounts are this pipeline's.
    private func handOver(_ addressed: AddressedEvent, at place: AnswerPlace) -> EventOutcome? {
        guard let owners = dependencies.owners else { return nil }
        let event = addressed.event
        handedOver.add(WaitingEvent(event: event, source: addressed.source, places: [place]))
        owners.handOver(
            event,
            from: addressed.source,
            concerning: addressed.accounts.compactMap { index.key(of: $0) }
        ) { [intake] isKept in
            intake.handOverEnded(event.id, isKept: isKept)
        }
        return EventOutcome(event: event.id, end: .waits)
    }

    private func endHandOvers(_ ended: [(event: EventID, isKept: Bool)], _ batch: inout OpenBatch) {
        for (id, isKept) in ended {
            if let waiting = handedOver.take(id) { endHandOvers([waiting], isKept: isKept, &batch) }
        }
    }

    private func endHandOvers(_ events: [WaitingEvent], isKept: Bool, _ batch: inout OpenBatch) {
        for waiting in events {
            let id = waiting.event.id
            batch.verdicts.resume(waiting)
            batch.note(isKept ? EventOutcome(event: id, end: .finished(.accepted)) : .notKept(id))
        }
    }

    /// Whether owners have not answered for everything yet.
    package var awaitsOwners: Bool { !handedOver.isEmpty }

    // MARK: Context

    private func learn(_ event: Event, at now: Timestamp) {
        guard !deletions.contains(event) else { return }
        context.learn(event, at: now)
        if context.isWorthLearning(event.kind) { partition.found(event, &context, at: now) }
    }

    /// An event that was asked for, by us or by the reader of lists of relays and devices.
    private func learn(fetched event: Event, _ batch: inout OpenBatch) {
        guard event.kind != .relayList, event.kind != .deviceList else {
            guard batch.verdicts.contains(event.id) else { return take(list: event, &batch) }
            // Several relays have it.
            batch.effects.log.note(.duplicate, event.id)
            return batch.verdicts.addCopy(event.id)
        }
        if gate.purposes[event.kind] == .recipientList,
            registrations.recipientLists.wants(event.kind, of: event.pubkey, in: index, SlotMark(event))
        {
            registrations.add(recipientList: event, isAddressed: true)
        }
        if event.kind == .contactList { partition.settleDistances(by: event, at: batch.time) }
        if !deletions.contains(event) { context.learn(fetched: event, at: batch.time) }
        partition.found(event, &context, at: batch.time)
        batch.stop(.fetched, EventVerdict(id: event.id, .accepted))
    }

    private func endFetches(_ arrivals: Arrivals, at now: Timestamp) {
        for number in arrivals.endedFetches {
            let isAnswered = !arrivals.unansweredFetches.contains(number)
            partition.endFetch(number, isAnswered: isAnswered, &context, at: now)
        }
    }

    /// Asks relays for what events of this batch began to wait for.
    private func fetchContext() {
        guard let fetch = partition.nextFetch() else { return }
        guard let fetcher = dependencies.contextFetcher else {
            return intake.fetchEnded(fetch.number, isAnswered: false)
        }
        fetcher.fetch(fetch.wants) { [intake] isAnswered in
            intake.fetchEnded(fetch.number, isAnswered: isAnswered)
        }
    }

    // MARK: Registrations, lists and deletions

    private func register(_ event: Event, from source: EventSource, _ batch: inout OpenBatch) {
        begin(event, &batch)
        let isDeleted = deletions.contains(event)
        if let outcome = registrations.add(registration: event, isDeleted: isDeleted, isListed: source.isListed) {
            batch.note(outcome)
        }
    }

    private func take(list event: Event, _ batch: inout OpenBatch) {
        begin(event, &batch)
        registrations.add(list: event)
    }

    /// Brings a row of registrations or lists to the registry. It counts for the very next event, also of the same
    /// batch.
    private func settleRegistrations(_ batch: inout OpenBatch) {
        guard let settlement = registrations.settle(in: index, at: batch.time) else { return }
        for outcome in settlement.outcomes { batch.note(outcome) }
        batch.retract(settlement.notKept)
        for list in settlement.lists { partition.found(list: list, at: batch.time) }
        updateIndex()
    }

    /// A request is done with when it is answered, whatever the answer says.
    private func answer(_ request: Event, from source: EventSource, _ batch: inout OpenBatch) {
        begin(request, &batch)
        let signer = registrations.signer
        signer?.receive(request, from: source) { event in
            let isDeleted = deletions.contains(event)
            let outcome = registrations.register(
                carried: event,
                isDeleted: isDeleted,
                isListed: source.isListed,
                at: now()
            )
            updateIndex()
            batch.effects.log.note(outcome)
            guard case .stopped(let result) = outcome.end else { return .accepted }
            return result
        }
        batch.note(EventOutcome(event: request.id, end: .finished(.accepted), step: .request))
    }

    /// Takes a deletion: of registrations, of what notifications may show, and of events that wait for a device's time.
    private func delete(by event: Event, _ batch: inout OpenBatch) {
        guard let deletion = deletions.read(event) else {
            return batch.stop(.unaddressed, EventVerdict(id: event.id, .accepted))
        }
        begin(event, &batch)
        switch deletions.apply(deletion, by: event, at: batch.time) {
        case .failed(let outcome): batch.note(outcome)
        case .applied(let ended):
            updateIndex()
            dependencies.ruledEvents?.withdrawn(deletion)
            partition.withdraw(deletion, &context, &batch.effects)
            switch deletion.scope {
            case .everything:
                if ended > 0 || context.knows(profileOf: deletion.author) {
                    context.forget(everythingBy: deletion.author, until: deletion.createdAt)
                }
            case .events:
                context.forget(deletion)
            }
            let outcome = EventOutcome(
                event: event.id,
                end: .finished(.accepted),
                step: .deleted,
                account: ended > 0 ? event.pubkey : nil,
                reason: ended > 0 ? "registrations ended: \(ended)" : "its author took events back"
            )
            batch.note(outcome)
        }
    }

    // MARK: The end of a batch

    /// Everything that the batch leads to goes to disk at once; only then are its events done with, and answered.
    private func conclude(_ batch: inout OpenBatch, answering arrived: [Submission]) {
        partition.close(&batch.effects)
        let isKept = recorder.keep(batch.effects)
        let hasLists = partition.conclude(isKept: batch.effects.pace == nil ? nil : isKept, at: batch.time)
        batch.effects.log.settle(isKept: isKept)
        if !hasLists { batch.retract(batch.effects.baselineLists) }
        let (done, open, notKept) = batch.verdicts.conclude(isKept: isKept)
        for id in notKept { batch.effects.log.note(.notKept, id) }
        for id in done { gate.remember(id) }
        for id in open { gate.release(id) }
        if isKept { for request in batch.effects.zapRequests { gate.remember(request) } }
        answers.deliver(batch.verdicts, to: arrived)
        recorder.report(batch.effects)
    }

    // MARK: Between batches

    /// Puts settings in force, each in its turn, and says so.
    func adopt(_ changes: [SettingsChange]) {
        for change in changes { change.completion(Result { try adopt(change.settings) }) }
    }

    /// Puts other settings in force, between two batches. Events that wait for context are decided by them too. Throws,
    /// and keeps the old ones, when the registry cannot be read. Where and how long events wait for context stays as it
    /// was at the start.
    func adopt(_ new: PipelineSettings) throws {
        let (old, oldLists) = (settings, registrations.recipientLists)
        if new.rules.namedSignals != old.rules.namedSignals || new.rules.languages != old.rules.languages {
            try registry.rename(
                signals: Array(new.rules.namedSignals),
                languages: new.rules.languages,
                in: &index,
                from: feed
            ) {
                partition.apply($0)
            }
        }
        let filters = EventFilters(new.filters)
        let lists = RecipientLists(new, filters, registry: registry)
        settings = new
        partition.adopt(new, filters, hasOtherPacing: new.pacing != old.pacing)
        registrations.adopt(lists)
        gate.follow(Purposes(new, lists, dependencies, keys: registry.keys.names))
        demand = ContextDemand(new)
        updateContextDemand()
        // Lists that were sought and found may be forgotten since, or kept only as far as they were needed then.
        if lists.keptKinds != oldLists.keptKinds || lists.asksForFollows != oldLists.asksForFollows {
            context.forgetSoughtLists()
        }
        registrations.removeUnreadLists(at: now())
    }

    /// Brings the index up to date, and what depends on it.
    private func updateIndex() {
        if registry.update(&index, from: feed, each: { partition.apply($0) }) > 0 { updateContextDemand() }
    }

    /// Keeps only what some device may be shown.
    private func updateContextDemand() {
        context.follow(demand.needs(of: index))
    }
}

/// A batch that is worked on.
private struct OpenBatch {
    var effects: Effects
    var verdicts = Verdicts()

    init(_ effects: Effects) {
        self.effects = effects
    }

    var time: Timestamp { effects.time }

    /// An event goes no further, and its verdict is given.
    mutating func stop(_ step: PipelineStep, _ verdict: EventVerdict) {
        effects.log.note(step, verdict.id)
        verdicts.stop(verdict)
    }

    mutating func note(_ outcome: EventOutcome) {
        effects.log.note(outcome)
        verdicts.note(outcome.end, of: outcome.event)
    }

    /// The disk did not take everything of these events after all.
    mutating func retract(_ events: [EventID]) {
        for id in verdicts.retract(events) { effects.log.note(.notKept, id) }
    }
}
