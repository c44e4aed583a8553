import Delivery
import Logging
import Nostr
import Notifications
import Registry
import Rules
import Storage

/// The way of an event, every stage in its order: gate, match, rules, outbox. Belongs to one thread.
///
/// Events come in batches and what they wake is kept in one transaction, so that a sender's OK means that nothing is lost. An
/// event that lacks a name or a note waits for it beyond its batch, unanswered.
package final class Pipeline {
    /// From where it takes events, and where it hears that what it asked for has come.
    let intake: Intake
    let registry: Registry
    let doors: PipelineDoors
    var addressees: Addressees
    let deliveryID: @Sendable (EventID, DeviceID) -> String
    let now: @Sendable () -> Int64
    let logger: Logger
    let putOnDisk: ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void
    let observer: any PipelineObserver

    let outboxTrouble: TroubleLog
    let registryTrouble: TroubleLog

    /// What rules, filters, defaults and the like are in force.
    var settings: PipelineSettings
    /// Beats while events are worked on, so that others can tell work from being stuck.
    package let heartbeat = Heartbeat()
    package let gauges = PipelineGauges()
    var gate: Gate
    var index: MatchIndex
    var context: EventContext
    var follows: Follows
    var hints = HintDesk()
    var pacing: Pacing
    var distances = FollowDistances()
    var parking: Parking
    var deletions = Deletions()
    /// Authors whose lists of relays and devices concern nobody here, until somebody registers.
    var strangers = GenerationalSet<PublicKey>(capacity: 50_000)
    var answers = OpenAnswers()
    /// How many submissions were answered or wait for their answer.
    var submissions = 0

    /// Loads the index of `registry`, which this pipeline owns from now on. `accepted` are events that were accepted before
    /// this process began. `deliveryID` names a delivery, the same for the same event and device; `keep` puts deliveries on
    /// disk, and with them the events they are for and others that shall wake nobody again, and what becomes of devices' paces, and sets the courier going, or
    /// throws; `now` is in milliseconds since 1970. From `intake` the pipeline's thread takes events. Throws when the registry
    /// cannot be read.
    package init(
        settings: PipelineSettings,
        registry: Registry,
        intake: Intake,
        doors: PipelineDoors = PipelineDoors(),
        accepted: [EventID] = [],
        deliveryID: @escaping @Sendable (EventID, DeviceID) -> String,
        keep: @escaping ([Delivery], _ causes: [EventID], PaceChanges) throws -> Void,
        now: @escaping @Sendable () -> Int64,
        observer: any PipelineObserver,
        logger: Logger
    ) throws {
        self.intake = intake
        self.registry = registry
        self.doors = doors
        self.addressees = Addressees(settings: settings, sealer: doors.sealer, deliveryID: deliveryID)
        self.now = now
        self.logger = logger
        self.putOnDisk = keep
        self.observer = observer
        self.outboxTrouble = TroubleLog("Deliveries cannot be kept; their events are not accepted", logger: logger)
        self.registryTrouble = TroubleLog(
            "The registry cannot be read or written; what needs it is not accepted",
            logger: logger
        )
        self.settings = settings
        self.deliveryID = deliveryID
        self.gate = Gate(purposes: Purposes(settings, addressees.filters, doors: doors, ourKey: registry.ourKey))
        self.index = try registry.load(
            signals: Array(settings.rules.namedSignals),
            languages: settings.rules.languages
        )
        self.context = try Self.context(settings, logger: logger)
        self.follows = Follows(registry: registry, trouble: registryTrouble, now: now)
        self.parking = Parking(
            limits: ParkingLimits(
                wait: doors.contextFetcher == nil ? 0 : settings.contextWait,
                events: settings.contextRoom
            )
        )
        self.pacing = Pacing(policy: settings.pacing, store: doors.paceStore, room: doors.room)
        try forgetUnreadLists()
        try pacing.load(index, at: now())
        updateContextDemand()
        for id in accepted { gate.remember(id) }
    }

    /// Works on what arrived, in its order. A submission is answered when everything that any event of the batch wakes is
    /// kept, and when none of its own waits any longer.
    package func process(_ arrivals: Arrivals) {
        heartbeat.beat()
        updateIndex()
        var batch = Batch(log: StepLog(logger: logger), time: now())
        pacing.pacer.notice(batch.time)
        pacing.take(arrivals.ends, at: batch.time)
        for (offset, submission) in arrivals.submissions.enumerated() {
            heartbeat.beat()
            for (position, json) in submission.events.enumerated() {
                let place = AnswerPlace(submission: submissions + offset, position: position)
                json.withUnsafeBytes { admit($0, from: submission.source, at: place, into: &batch) }
            }
        }
        settleHeld(&batch)
        resumeReady(after: arrivals, into: &batch)
        releaseDue(into: &batch)
        conclude(&batch, answering: arrivals.submissions)
        context.keep(at: batch.time)
        fetchContext()
        gauges.set(waitingDevices: pacing.pacer.waitingDevices, parkedEvents: parking.count)
    }

    /// Whether accounts' own lists of that kind are read.
    func isRecipientKind(_ kind: Kind) -> Bool { gate.purposes[kind] == .recipientList }

    /// How long events may be waited for, in milliseconds; nil: for ever.
    package var patience: Int64? {
        let now = now()
        return [parking.patience(at: now), pacing.patience(at: now)].compactMap(\.self).min()
    }

    /// Ends all waiting, what waits for context goes on without it, and writes what is not written yet. Once, at the end.
    package func finish() {
        updateIndex()
        var batch = Batch(log: StepLog(logger: logger), time: now())
        for parked in parking.takeAll() { resume(parked, into: &batch) }
        conclude(&batch, answering: [])
        context.close(at: batch.time)
    }

    private func admit(
        _ json: UnsafeRawBufferPointer,
        from source: EventSource,
        at place: AnswerPlace,
        into batch: inout Batch
    ) {
        let scanned: ScannedEvent
        do throws(EventError) {
            scanned = try gate.scan(json)
        } catch {
            let message = MachineReadablePrefix.invalid.message(error)
            return batch.stop(.malformed, EventVerdict(id: nil, .refused(message)))
        }
        let purpose = gate.purposes[scanned.kind]
        if !batch.held.isEmpty,
            !batch.held.continues(with: scanned.kind, isRecipientList: purpose == .recipientList)
        {
            settleHeld(&batch)
        }
        let isListWanted =
            switch purpose {
            case .list: wantsLists(of: scanned.pubkey)
            case .recipientList:
                wantsRecipientList(
                    scanned.kind,
                    of: scanned.pubkey,
                    SlotMark(createdAt: scanned.createdAt, id: scanned.id)
                )
            case .deletion: wantsDeletion(scanned, in: json)
            default: false
            }
        let passage = gate.judge(
            scanned,
            in: json,
            from: source,
            index: index,
            isListWanted: isListWanted,
            now: batch.time
        )
        switch passage {
        case .stopped(let step, let verdict): batch.stop(step, verdict)
        case .repeated(let id): addCopy(of: id, at: place, into: &batch)
        case .fetched(let event): learn(fetched: event, into: &batch)
        case .registration(let event): hold(registration: event, into: &batch)
        case .list(let event): hold(list: event, into: &batch)
        case .deletion(let event): forget(by: event, into: &batch)
        case .request(let event): answer(request: event, from: source, into: &batch)
        case .hint(let event, let hits): wake(on: event, hits, into: &batch)
        case .unaddressed(let scanned): pass(scanned, in: json, into: &batch)
        case .recipientList(let event, let hits) where hits.isEmpty:
            learn(event, into: batch)
            hold(recipientList: event, into: &batch)
        case .recipientList(let event, let hits):
            notice(event, hits, from: source, at: place, json.count, into: &batch)
            hold(notice: event, into: &batch)
        case .addressed(let event, let hits):
            notice(event, hits, from: source, at: place, json.count, into: &batch)
        }
    }

    /// An event that names these accounts.
    private func notice(
        _ event: Event,
        _ hits: [MatchHit],
        from source: EventSource,
        at place: AnswerPlace,
        _ size: Int,
        into batch: inout Batch
    ) {
        settleRecipientLists(&batch)
        learn(event, into: batch)
        let accounts = Set(hits.map(\.account))
        if source.isNews {
            begin(event, into: &batch)
            route(event, to: accounts, from: source, waitingAt: (place, size), into: &batch)
        } else {
            rememberOnly(event, to: accounts, into: &batch)
        }
    }
}
