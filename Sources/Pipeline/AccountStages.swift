import Delivery
import Nostr
import Registry
import Units

/// The stages behind the gate, for events that name accounts: from the matcher to the composer, or to the owners of the
/// accounts where several routers work as one. What names and notes say is learned here as well.
struct AccountStages {
    private var context: EventContext
    private var demand: ContextDemand
    private var partition: Partition
    private var handedOver: HandedOverEvents
    private let fetcher: (any ContextFetcher)?
    private let ruledEvents: (any RuledEventObserver)?
    private let intake: Intake

    init(
        _ partition: Partition,
        _ context: EventContext,
        _ demand: ContextDemand,
        intake: Intake,
        _ dependencies: PipelineDependencies
    ) {
        self.partition = partition
        self.context = context
        self.demand = demand
        handedOver = HandedOverEvents(to: dependencies.owners, intake: intake)
        fetcher = dependencies.contextFetcher
        ruledEvents = dependencies.ruledEvents
        self.intake = intake
    }

    /// Takes up what the disk has. Throws when it cannot be read.
    mutating func load(_ index: borrowing MatchIndex, at now: Timestamp) throws {
        try partition.load(index, at: now)
        follow(index)
    }

    // MARK: The way of an event

    /// Takes a verified event further. With `place` and size it may wait for what its texts refer to; without, it has
    /// waited. `isKnown` says whether the request of a zap was handled before.
    mutating func take(
        _ addressed: AddressedEvent,
        waitingAt place: (AnswerPlace, size: Int)?,
        in registry: borrowing RegistryStage,
        _ batch: inout OpenBatch,
        isKnown: (EventID) -> Bool
    ) {
        let event = addressed.event
        let outcome =
            if event.isExpired(at: batch.time.seconds) {
                EventOutcome(event: event.id, end: .stopped(.accepted), step: .expired)
            } else if registry.isDeleted(event) {
                EventOutcome(event: event.id, end: .stopped(.accepted), step: .deleted)
            } else if let place, let outcome = handedOver.handOver(addressed, at: place.0, in: registry.index) {
                outcome
            } else {
                partition.take(
                    addressed,
                    waitingAt: place,
                    in: registry.index,
                    &context,
                    &batch.effects,
                    isKnown: isKnown
                )
            }
        batch.note(outcome)
    }

    /// Remembers an event that was there before anybody listened.
    mutating func takeBaseline(
        _ addressed: AddressedEvent,
        at place: AnswerPlace,
        in index: borrowing MatchIndex,
        _ batch: inout OpenBatch
    ) {
        batch.note(
            handedOver.handOver(addressed, at: place, in: index)
                ?? partition.takeBaseline(addressed, in: index, &batch.effects)
        )
    }

    /// Wakes the accounts that a hint names.
    mutating func take(
        hint: AddressedEvent,
        at place: AnswerPlace,
        in index: borrowing MatchIndex,
        _ batch: inout OpenBatch
    ) {
        batch.note(
            handedOver.handOver(hint, at: place, in: index)
                ?? partition.take(hint: hint, in: index, &context, &batch.effects)
        )
    }

    /// Lets a further copy of an event that waits share its end; false when that event does not wait.
    mutating func join(_ id: EventID, at place: AnswerPlace) -> Bool {
        partition.join(id, at: place) || handedOver.join(id, at: place)
    }

    // MARK: What waited

    /// Takes further what fetches, other owners and time have set free, and wakes devices whose time has come.
    mutating func goOn(
        _ arrivals: Arrivals,
        in registry: borrowing RegistryStage,
        _ batch: inout OpenBatch,
        isKnown: (EventID) -> Bool
    ) {
        for number in arrivals.endedFetches {
            let isAnswered = !arrivals.unansweredFetches.contains(number)
            partition.endFetch(number, isAnswered: isAnswered, &context, at: batch.time)
        }
        for (event, isKept) in arrivals.endedHandOvers { handedOver.end(event, isKept: isKept, &batch) }
        for waiting in partition.takeReady(at: batch.time) { resume(waiting, in: registry, &batch, isKnown: isKnown) }
        partition.releaseDue(in: registry.index, &batch.effects)
    }

    /// Ends all waiting. Once, at the end.
    mutating func endWaiting(
        in registry: borrowing RegistryStage,
        _ batch: inout OpenBatch,
        isKnown: (EventID) -> Bool
    ) {
        for waiting in partition.takeReady(at: nil) { resume(waiting, in: registry, &batch, isKnown: isKnown) }
        handedOver.endAll(&batch)
    }

    /// Accounts may have come and gone while the event waited, so it is matched again.
    private mutating func resume(
        _ waiting: WaitingEvent,
        in registry: borrowing RegistryStage,
        _ batch: inout OpenBatch,
        isKnown: (EventID) -> Bool
    ) {
        batch.verdicts.resume(waiting)
        let event = waiting.event
        var hits: [MatchHit] = []
        event.mentionedKeys.map(\.bytes).withUnsafeBufferPointer { registry.index.match($0, into: &hits) }
        let accounts = hits.accounts(for: event.kind)
        let addressed = AddressedEvent(event: event, accounts: accounts, source: waiting.source)
        take(addressed, waitingAt: nil, in: registry, &batch, isKnown: isKnown)
    }

    // MARK: Context

    /// Whether an event of that kind says what others may need.
    func isWorthLearning(_ kind: Kind) -> Bool { context.isWorthLearning(kind) }

    /// Learns from a verified event that nobody deleted.
    mutating func learn(_ event: Event, at now: Timestamp) {
        context.learn(event, at: now)
        if context.isWorthLearning(event.kind) { partition.found(event, &context, at: now) }
    }

    /// Learns from an event that was asked for.
    mutating func learn(fetched event: Event, isDeleted: Bool, at now: Timestamp) {
        if event.kind == .contactList { partition.settleDistances(by: event, at: now) }
        if !isDeleted { context.learn(fetched: event, at: now) }
        partition.found(event, &context, at: now)
    }

    /// An account's own list is known now, or is not to be had now.
    mutating func found(list: Event, at now: Timestamp) { partition.found(list: list, at: now) }

    /// Whether a deletion by `author` may take back an event that is kept here.
    mutating func holds(_ id: EventID, by author: PublicKey) -> Bool {
        partition.holds(id) || context.authors(of: id)?.first == author
    }

    /// Whether other owners may keep events that never came here.
    var handsOver: Bool { handedOver.isInUse }

    /// Whether anything of that author's may be kept.
    mutating func knows(_ author: PublicKey) -> Bool {
        partition.mayHaveWaiting(author) || context.knows(profileOf: author)
    }

    /// Forgets what a deletion takes back, after so many registrations `ended`.
    mutating func withdraw(_ deletion: Deletion, ended: Int, _ batch: inout OpenBatch) {
        ruledEvents?.withdrawn(deletion)
        partition.withdraw(deletion, &context, &batch.effects)
        switch deletion.scope {
        case .everything:
            if ended > 0 || context.knows(profileOf: deletion.author) {
                context.forget(everythingBy: deletion.author, until: deletion.createdAt)
            }
        case .events:
            context.forget(deletion)
        }
    }

    /// Has the owners of all accounts withdraw what a deletion takes back; false: they are this pipeline's.
    mutating func handOver(deletion event: Event, from source: EventSource, at place: AnswerPlace) -> Bool {
        handedOver.handOver(deletion: event, from: source, at: place)
    }

    // MARK: Batches

    /// Takes up the time of a batch, and the ends of deliveries.
    mutating func begin(at now: Timestamp, _ ends: [PushEnd]) { partition.begin(at: now, ends) }

    /// Completes what a batch leads to, before it goes to disk.
    mutating func close(_ effects: inout Effects) { partition.close(&effects) }

    /// The disk took the batch, or refused it; nil: it was not asked. False when it does not have the batch's contact
    /// lists.
    mutating func conclude(isKept: Bool?, at now: Timestamp) -> Bool { partition.conclude(isKept: isKept, at: now) }

    /// After a batch: keeps what was learned, and asks relays for what its events began to wait for.
    mutating func rest(at now: Timestamp) {
        context.keep(at: now)
        guard let fetch = partition.nextFetch() else { return }
        guard let fetcher else { return intake.fetchEnded(fetch.number, isAnswered: false) }
        fetcher.fetch(fetch.wants) { [intake] isAnswered in
            intake.fetchEnded(fetch.number, isAnswered: isAnswered)
        }
    }

    /// Everything is written. Once, at the end.
    mutating func end(at now: Timestamp) { context.close(at: now) }

    /// How long events may be waited for; nil: without limit.
    func patience(at now: Timestamp) -> Duration? { partition.patience(at: now) }

    /// Devices for which something waits.
    var waitingDevices: Int { partition.waitingDevices }

    /// Events that wait for context or for other owners.
    var waitingEvents: Int { partition.waitingEvents + handedOver.count }

    /// Whether owners have not answered for everything yet.
    var awaitsOwners: Bool { !handedOver.isEmpty }

    // MARK: Between batches

    mutating func apply(_ change: IndexChange) { partition.apply(change) }

    /// Keeps only what some device may be shown.
    mutating func follow(_ index: borrowing MatchIndex) { context.follow(demand.needs(of: index)) }

    /// Decides by other settings from now on. `hasOtherLists`: other lists of accounts are read than before.
    mutating func adopt(
        _ settings: PipelineSettings,
        hasOtherPacing: Bool,
        hasOtherLists: Bool,
        in index: borrowing MatchIndex
    ) {
        partition.adopt(settings, EventFilters(settings.filters), hasOtherPacing: hasOtherPacing)
        demand = ContextDemand(settings)
        follow(index)
        // Lists that were sought and found may be forgotten since, or kept only as far as they were needed then.
        if hasOtherLists { context.forgetSoughtLists() }
    }
}
