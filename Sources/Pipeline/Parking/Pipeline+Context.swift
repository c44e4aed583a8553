import Logging
import Nostr
import Registry

/// Learning what notifications may speak of, and waiting for it.
extension Pipeline {
    /// What is known from the start. Where nothing is kept any more, what an earlier router kept goes.
    static func context(_ settings: PipelineSettings, logger: Logger) throws -> EventContext {
        guard let path = settings.contextPath else { return EventContext(isOff: !settings.usesContext) }
        // Another program's file in its place does not matter if nothing is kept.
        let store =
            settings.usesContext
            ? try ContextStore(path: path, logger: logger) : try? ContextStore(path: path, logger: logger)
        return EventContext(store: store, isOff: !settings.usesContext)
    }

    /// Keeps what some device may be shown, and no more.
    func updateContextDemand() {
        context.follow(settings.usesContext ? addressees.needs(of: index) : [])
    }

    /// An event that concerns nobody, of a source that is answered.
    func pass(_ scanned: ScannedEvent, in json: UnsafeRawBufferPointer, into batch: inout Batch) {
        if context.isWorthLearning(scanned.kind), let event = try? Event(scanned: scanned, in: json) {
            learn(event, into: batch)
        }
        batch.stop(.unaddressed, EventVerdict(id: scanned.id, .accepted))
    }

    func learn(_ event: Event, into batch: Batch) {
        guard !isDeleted(event) else { return }
        context.learn(event, at: batch.time)
        if context.isWorthLearning(event.kind) { noteFound(event, at: batch.time) }
    }

    /// An event that was asked for, by us or by whoever reads lists of relays and devices.
    func learn(fetched event: Event, into batch: inout Batch) {
        guard event.kind != .relayList, event.kind != .deviceList else {
            // Several relays have it.
            return batch.contains(event.id) ? batch.addCopy(event.id) : hold(list: event, into: &batch)
        }
        if isRecipientKind(event.kind), wantsRecipientList(event.kind, of: event.pubkey, SlotMark(event)) {
            hold(notice: event, into: &batch)
        }
        noteDistances(in: event, at: batch.time)
        if !isDeleted(event) { context.learn(fetched: event, at: batch.time) }
        noteFound(event, at: batch.time)
        batch.stop(.fetched, EventVerdict(id: event.id, .accepted))
    }

    private func noteFound(_ event: Event, at now: Int64) {
        if event.kind == .profile { parking.found(profileOf: event.pubkey) }
        let isAuthorSought =
            parking.seeksAuthor(of: event.id) && context.isWorthSeeking(profileOf: event.pubkey, at: now)
        parking.found(event: event.id, by: isAuthorSought ? event.pubkey : nil)
        if event.kind.retention == .addressable { parking.found(address: event.address) }
    }

    /// Lets an event wait for what `plans` lack; false when they lack nothing that is worth it.
    func park(
        _ event: Event,
        from source: EventSource,
        at place: AnswerPlace,
        _ size: Int,
        lacking plans: [AddressingPlan],
        into batch: inout Batch
    ) throws -> Bool {
        guard parking.hasRoom(for: size) else { return false }
        var wants = ContextWants()
        do {
            for plan in plans {
                wants.formUnion(plan.missing(in: &context, at: batch.time))
                wants.formUnion(try filterWants(of: plan, for: event, at: batch.time))
            }
        } catch {
            // Nobody will be asked about them.
            for want in wants.distances { distances.ended(want, isAnswered: false, at: batch.time) }
            throw error
        }
        guard !wants.isEmpty else { return false }
        parking.park(Parked(event: event, source: source, places: [place]), size: size, for: wants, at: batch.time)
        batch.log.note(.waiting, event: event.id)
        batch.wait(event.id)
        return true
    }

    /// Lets those go on that lack nothing any more or have waited long enough.
    func resumeReady(after arrivals: Arrivals, into batch: inout Batch) {
        for number in arrivals.endedFetches {
            let wants = parking.ended(number)
            context.noteSought(wants, at: batch.time)
            endDistances(of: wants, isAnswered: !arrivals.unansweredFetches.contains(number), at: batch.time)
        }
        for parked in parking.takeReady(at: batch.time) { resume(parked, into: &batch) }
    }

    /// Accounts may have come and gone while it waited, so it is matched again.
    func resume(_ parked: Parked, into batch: inout Batch) {
        batch.resume(parked)
        let event = parked.event
        var hits: [MatchHit] = []
        event.mentionedKeys.map(\.bytes).withUnsafeBufferPointer { index.match($0, into: &hits) }
        let accounts = Set(hits.lazy.filter { $0.counts(for: event.kind) }.map(\.account))
        route(event, to: accounts, from: parked.source, waitingAt: nil, into: &batch)
    }

    /// Asks relays for what events of this batch began to wait for.
    func fetchContext() {
        guard let fetch = parking.nextFetch() else { return }
        guard let fetcher = doors.contextFetcher else { return intake.fetchEnded(fetch.number, isAnswered: false) }
        fetcher.fetch(fetch.wants) { [intake] isAnswered in
            intake.fetchEnded(fetch.number, isAnswered: isAnswered)
        }
    }
}
