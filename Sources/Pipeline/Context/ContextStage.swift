import Core
import Logging
import Nostr
import Registry

/// The context stage: stores names and notes from events, and lets events wait for those that relays may have.
struct ContextStage {
    /// The stored names and notes.
    var cache: EventContext
    private var demand: ContextDemand
    var waiting: WaitingEvents
    private let fetcher: (any ContextFetcher)?
    private let intake: Intake
    /// Whether a relay can be asked; nil until a batch needs to know.
    private var isReachable: Bool?

    /// Throws if the file of names and notes cannot be opened. The ends of fetches go into `intake`.
    init(
        _ settings: PipelineSettings,
        _ fetcher: (any ContextFetcher)?,
        intake: Intake,
        logger: Logger
    ) throws {
        cache = try EventContext(settings, logger: logger)
        demand = ContextDemand(settings)
        waiting = WaitingEvents(
            limits: WaitingEvents.Limits(
                wait: fetcher == nil ? .zero : settings.contextWait,
                events: settings.contextCapacity
            )
        )
        self.fetcher = fetcher
        self.intake = intake
    }

    /// Whether a deletion by `author` may take back an event that waits here, or whose note is stored.
    mutating func holds(_ id: EventID, by author: PublicKey) -> Bool {
        waiting.contains(id) || cache.authors(of: id)?.first == author
    }

    // MARK: Settings

    /// Switches to new settings. Limits on events that wait stay as they were at the start. `hasOtherLists` is whether
    /// other lists of accounts are read from now on.
    mutating func adopt(_ settings: PipelineSettings, in index: borrowing MatchIndex, hasOtherLists: Bool) {
        demand = ContextDemand(settings)
        follow(index)
        // Lists that were fetched may be forgotten since, or were stored only as far as they were needed then.
        if hasOtherLists { cache.forgetAskedLists() }
    }

    /// Stores from now on what the registered devices need.
    mutating func follow(_ index: borrowing MatchIndex) { cache.follow(demand.needs(of: index)) }

    // MARK: Events

    /// Stores context from a received event, which must be verified.
    mutating func learn(_ event: Event, at now: Timestamp) {
        cache.learn(event, at: now)
        if cache.isWorthLearning(event.kind) { found(event, at: now) }
    }

    /// Notifies waiting events that a verified event is known now.
    mutating func found(_ event: Event, at now: Timestamp) {
        if event.kind == .profile { waiting.found(.profile(event.pubkey)) }
        let isAuthorWanted =
            waiting.seeksAuthor(of: event.id) && cache.isWorthSeeking(profileOf: event.pubkey, at: now)
        waiting.found(.event(event.id), by: isAuthorWanted ? event.pubkey : nil)
        if event.kind.retention == .addressable { waiting.found(.address(event.address)) }
    }

    /// Notifies waiting events that these follows of follows are known now.
    mutating func found(_ distances: [DistanceWant]) {
        for want in distances { waiting.found(.distance(want)) }
    }

    /// Notifies waiting events that an account's own list is known now, or cannot be fetched now.
    mutating func found(list: Event, _ filters: inout Filters, at now: Timestamp) {
        waiting.found(.list(ListWant(account: list.pubkey, kind: list.kind)))
        guard list.kind == .contactList else { return }
        waiting.found(.contactList(list.pubkey))
        let (settled, open) = filters.resume(distancesOf: list.pubkey, at: now)
        found(settled)
        filters.abandon(Set(open.filter { !waiting.ask($0) }), at: now)
    }

    // MARK: Waiting

    /// Starts a batch. Relays come and go while events arrive, so each batch checks once whether one can be asked.
    mutating func begin() { isReachable = nil }

    /// Lets an event wait for the context that its plans lack. Returns false if nothing important is missing, or no
    /// relay can be asked.
    mutating func wait(
        for plans: [Plan],
        of addressed: AddressedEvent,
        at place: (AnswerPlace, size: Int),
        _ filters: inout Filters,
        _ now: Timestamp
    ) throws -> Bool {
        guard waiting.hasCapacity(for: place.size), canAsk() else { return false }
        var wants = ContextWants()
        do {
            for plan in plans {
                wants.formUnion(plan.missing(in: &cache, at: now))
                wants.formUnion(try filters.wants(of: plan, for: addressed.event, &cache, at: now))
            }
        } catch {
            filters.abandon(wants.distances, at: now)
            throw error
        }
        guard !wants.isEmpty else { return false }
        let event = WaitingEvent(event: addressed.event, source: addressed.source, places: [place.0])
        waiting.add(event, size: place.size, for: wants, at: now)
        return true
    }

    private mutating func canAsk() -> Bool {
        if let isReachable { return isReachable }
        let isReachable = fetcher?.isReachable ?? false
        self.isReachable = isReachable
        return isReachable
    }

    /// Ends a fetch. Events stop waiting for context that it did not find.
    mutating func endFetch(_ number: Int, isAnswered: Bool, _ filters: inout Filters, at now: Timestamp) {
        let wants = waiting.ended(number)
        cache.noteAsked(wants, at: now)
        found(filters.end(wants, isAnswered: isAnswered, at: now))
    }

    /// Ends a batch: saves what it learned, and asks relays for the context that its events started to wait for.
    mutating func rest(at now: Timestamp) {
        cache.keep(at: now)
        guard let fetch = waiting.nextFetch() else { return }
        guard let fetcher else { return intake.fetchEnded(fetch.number, isAnswered: false) }
        fetcher.fetch(fetch.wants) { [intake] isAnswered in
            intake.fetchEnded(fetch.number, isAnswered: isAnswered)
        }
    }
}
