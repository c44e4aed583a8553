import Delivery
import Logging
import Nostr
import Notifications
import Registry
import Rules

/// The way of an event, every stage in its order: gate, match, rules, outbox. Belongs to one thread.
///
/// Events come in batches and what they wake is kept in one transaction, so that a sender's OK means that nothing is lost.
package final class Pipeline {
    private var gate: Gate
    private var context: EventContext
    private var index: MatchIndex
    private let registry: Registry
    private let addressees: Addressees
    private let keep: ([Delivery], _ causes: [EventID]) throws -> Void
    private let now: @Sendable () -> Int64
    let doors: PipelineDoors
    let intake: Intake
    private let observer: any PipelineObserver
    private let logger: Logger
    /// Contact lists of an earlier batch, accepted, whose follows the disk has not taken yet.
    private var unremembered: [ContactList] = []

    /// Loads the index of `registry`, which this pipeline owns from now on. `accepted` are events that were accepted before
    /// this process began. `deliveryID` names a delivery, the same for the same event and device; `keep` puts deliveries on
    /// disk, and with them the events they are for, and sets the courier going, or throws; `now` is in milliseconds since
    /// 1970. From `intake` the pipeline's thread takes events, and there the pipeline hears that what it asked for has come.
    /// Throws when the registry cannot be read.
    package init(
        settings: PipelineSettings,
        registry: Registry,
        intake: Intake,
        doors: PipelineDoors = PipelineDoors(),
        accepted: [EventID] = [],
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> String,
        keep: @escaping ([Delivery], _ causes: [EventID]) throws -> Void,
        now: @escaping @Sendable () -> Int64,
        observer: any PipelineObserver,
        logger: Logger
    ) throws {
        self.gate = Gate(notifiableKinds: settings.rules.notifiableKinds)
        self.index = try registry.load(signals: Array(settings.rules.namedSignals))
        self.context = EventContext(store: try settings.contextPath.map { try ContextStore(path: $0, logger: logger) })
        self.registry = registry
        self.addressees = Addressees(settings: settings, deliveryID: deliveryID)
        self.keep = keep
        self.now = now
        self.doors = doors
        self.intake = intake
        self.observer = observer
        self.logger = logger
        for id in accepted { gate.remember(id) }
    }

    /// Works on submissions in their order and answers each when everything that any of them wakes is kept.
    package func process(_ submissions: [Submission]) {
        registry.update(&index)
        var batch = Batch(log: StepLog(logger: logger), time: now())
        for submission in submissions {
            for json in submission.events {
                json.withUnsafeBytes { admit($0, from: submission.source, into: &batch) }
            }
        }
        commit(&batch)
        context.keep(at: batch.time)
        var verdicts = batch.verdicts[...]
        for submission in submissions {
            submission.completion(Array(verdicts.prefix(submission.events.count)))
            verdicts = verdicts.dropFirst(submission.events.count)
        }
        observer.record(batch.log.counts)
    }

    /// Writes what is not written yet. Once, when everything is processed.
    func close() {
        context.close(at: now())
    }

    private func admit(_ json: UnsafeRawBufferPointer, from source: EventSource, into batch: inout Batch) {
        switch gate.admit(json, from: source, index: index) {
        case .stopped(let step, let verdict):
            batch.stop(step, verdict)
        case .registration(let event):
            register(event, into: &batch)
        case .unaddressed(let scanned):
            if EventContext.isWorthLearning(scanned.kind), let event = try? Event(scanned: scanned, in: json) {
                context.learn(event, at: batch.time)
            }
            batch.stop(.unaddressed, EventVerdict(id: scanned.id, .accepted))
        case .addressed(let event, let hits):
            if batch.contains(event.id) { return batch.stopRepeated(event.id) }
            context.learn(event, at: batch.time)
            route(event, to: hits, into: &batch)
        }
    }

    /// A registration counts for the very next event, also of the same batch.
    private func register(_ event: Event, into batch: inout Batch) {
        do {
            let result = try registry.apply(event)
            registry.update(&index)
            switch result {
            case .registered, .updated, .deregistered, .waiting:
                batch.stop(.registered, EventVerdict(id: event.id, .accepted))
            case .duplicate:
                batch.stop(.duplicate, EventVerdict(id: event.id, .duplicate))
            case .outdated:
                batch.stop(.duplicate, EventVerdict(id: event.id, .outdated))
            case .notForUs, .refused:
                batch.stop(.registrationRefused, EventVerdict(id: event.id, .refused(result.message)))
            }
        } catch {
            logger.error("A registration could not be kept", metadata: ["error": "\(error)"])
            batch.stop(.notKept, EventVerdict(id: event.id, .refused(Batch.notKept)))
        }
    }

    private func route(_ event: Event, to hits: [MatchHit], into batch: inout Batch) {
        guard !event.isExpired(at: batch.time / 1000) else {
            return batch.stop(.expired, EventVerdict(id: event.id, .accepted))
        }
        do {
            let newFollows = try newFollows(event, hits, into: &batch)
            let others = batch.deliveries.count
            for account in Set(hits.map(\.account)) {
                guard let key = index.key(of: account) else { continue }
                if let newFollows, !newFollows.contains(key) {
                    batch.log.note(.knownFollow, event: event.id)
                    continue
                }
                addressees.address(event, to: account, key, index: index, context: &context, into: &batch)
            }
            if batch.deliveries.count > others { batch.causes.append(event.id) }
            batch.finish(event.id)
        } catch {
            logger.error("An event could not be routed", metadata: ["error": "\(error)"])
            batch.stop(.notKept, EventVerdict(id: event.id, .refused(Batch.notKept)))
        }
    }

    /// For a contact list, whom of ours it names for the first time; nil for every other kind.
    private func newFollows(_ event: Event, _ hits: [MatchHit], into batch: inout Batch) throws -> Set<PublicKey>? {
        guard event.kind == .contactList else { return nil }
        if !unremembered.isEmpty { try rememberFollows() }
        let named = Set(hits.map(\.account)).compactMap { index.key(of: $0) }
        let list = ContactList(author: event.pubkey, named: named, createdAt: event.createdAt)
        let known = batch.contactLists.filter { $0.author == list.author }.flatMap(\.named)
        let new = try registry.newFollows(list)
        batch.contactLists.append(list)
        return Set(new).subtracting(known)
    }

    /// Everything the batch wakes goes to disk at once; only then are its events done with.
    private func commit(_ batch: inout Batch) {
        do {
            if !batch.deliveries.isEmpty { try keep(batch.deliveries, batch.causes) }
        } catch {
            logger.error("Deliveries could not be kept; their events are not accepted", metadata: ["error": "\(error)"])
            return batch.failFinished()
        }
        for id in batch.finished { gate.remember(id) }
        unremembered += batch.contactLists
        guard !unremembered.isEmpty else { return }
        do {
            try rememberFollows()
        } catch {
            // What they wake is on its way, so a sender must not try again. The next contact list does, and waits for it.
            logger.error("Follows could not be remembered yet", metadata: ["error": "\(error)"])
        }
    }

    private func rememberFollows() throws {
        try registry.remember(unremembered)
        unremembered = []
    }
}
