import Logging
import Nostr
import Notifications
import Registry
import Storage

/// What is addressed to the router: registrations, lists of relays and devices, requests.
extension Pipeline {
    /// Whose lists of relays and devices are worth a signature check. When that cannot be told, everybody's.
    func wantsLists(of author: PublicKey) -> Bool {
        if index.account(of: author) != nil { return true }
        if strangers.contains(author) { return false }
        guard (try? registry.concerns(author)) == false else { return true }
        strangers.insert(author)
        return false
    }

    private static let deletedRegistration = MachineReadablePrefix.blocked.message(
        "its author deleted this registration: sign a new one"
    )

    func hold(registration event: Event, into batch: inout Batch) {
        begin(event, into: &batch)
        guard !isDeleted(event) else {
            return batch.end(event.id, .deleted, .refused(Self.deletedRegistration), account: event.pubkey)
        }
        // A deregistration has no content, and nobody needs a session to leave.
        if !event.content.isEmpty, let signer = doors.remoteSigner, !signer.admits(event) {
            let message = "open a session (NIP-46) with this router first"
            return batch.end(
                event.id,
                .noSession,
                .refused(MachineReadablePrefix.restricted.message(message)),
                account: event.pubkey
            )
        }
        batch.held.add(registration: event)
    }

    func hold(list event: Event, into batch: inout Batch) {
        begin(event, into: &batch)
        batch.held.add(list: event)
    }

    /// Brings a row of events to the registry. It counts for the very next event, also of the same batch.
    func settleHeld(_ batch: inout Batch) {
        let held = batch.held
        guard !held.isEmpty else { return }
        batch.held = HeldEvents()
        register(held.registrations, into: &batch)
        learn(held.lists, into: &batch)
        learnRecipientLists(held, into: &batch)
        updateIndex()
    }

    private func register(_ events: [Event], into batch: inout Batch) {
        guard !events.isEmpty else { return }
        strangers.removeAll()
        do {
            let results = try registry.apply(events)
            // What is refused or known says nothing of the disk.
            if results.contains(where: \.isChange) { registryTrouble.passed(at: batch.time) }
            for (event, result) in zip(events, results) {
                batch.end(
                    event.id,
                    result.step,
                    result.verdict,
                    account: event.pubkey,
                    device: result.device,
                    reason: result.reason
                )
            }
        } catch {
            registryTrouble.occurred(error, at: batch.time)
            for event in events { batch.end(event.id, .notKept, Batch.notKept, account: event.pubkey) }
        }
    }

    private func learn(_ events: [Event], into batch: inout Batch) {
        guard !events.isEmpty else { return }
        do {
            let results = try registry.learn(events)
            try keepWhole(events)
            for (event, learned) in zip(events, results) {
                // Whose lists are read beside accounts' says who has to do with whom.
                let account = index.account(of: event.pubkey) == nil ? nil : event.pubkey
                switch learned {
                case .learned:
                    batch.log.note(.learned, event: event.id, account: account)
                    batch.finish(event.id)
                case .duplicate:
                    batch.log.note(.duplicate, event: event.id, account: account)
                    batch.finish(event.id, .duplicate)
                case .outdated:
                    batch.log.note(.duplicate, event: event.id, account: account, reason: "a newer one is known")
                    batch.finish(event.id, .outdated)
                case .ignored:
                    batch.end(event.id, .unaddressed, .accepted)
                case .refused(let refusal):
                    batch.end(
                        event.id,
                        .listRefused,
                        .refused(refusal.description),
                        account: account,
                        reason: refusal.reason
                    )
                }
            }
        } catch {
            registryTrouble.occurred(error, at: batch.time)
            for event in events { batch.end(event.id, .notKept, Batch.notKept) }
        }
    }

    /// A request is done with when it is answered, whatever the answer says.
    func answer(request event: Event, from source: EventSource, into batch: inout Batch) {
        begin(event, into: &batch)
        doors.remoteSigner?.receive(event, from: source) { register(carried: $0, log: &batch.log) }
        batch.log.note(.request, event: event.id)
        batch.finish(event.id)
    }

    /// Takes a registration that came inside of a request.
    private func register(carried event: Event, log: inout StepLog) -> EventVerdict.Result {
        do throws(EventError) {
            try event.verify()
        } catch {
            log.note(.forged, event: event.id)
            return .refused(MachineReadablePrefix.invalid.message(error))
        }
        guard !isDeleted(event) else {
            log.note(.deleted, event: event.id, account: event.pubkey)
            return .refused(Self.deletedRegistration)
        }
        strangers.removeAll()
        do {
            let result = try registry.apply(event)
            updateIndex()
            log.note(
                result.step,
                event: event.id,
                account: event.pubkey,
                device: result.device,
                reason: result.reason
            )
            return result.verdict
        } catch {
            registryTrouble.occurred(error, at: now())
            log.note(.notKept, event: event.id, account: event.pubkey)
            return Batch.notKept
        }
    }
}

extension RegistrationResult {
    fileprivate var step: PipelineStep {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .registered
        case .duplicate, .ended, .outdated, .superseded: .duplicate
        case .notForUs, .refused: .registrationRefused
        }
    }

    fileprivate var device: DeviceID? {
        switch self {
        case .registered(let device), .updated(let device): device
        default: nil
        }
    }

    /// In words for an operator.
    fileprivate var reason: String {
        switch self {
        case .registered: "a new device"
        case .updated: "a device anew"
        case .deregistered: "deregistered"
        case .waiting: "waits until the root's kind 10050 lists its key"
        case .duplicate: "taken before"
        case .ended: "taken before, and no longer in force"
        case .outdated: "a newer one is known"
        case .superseded: "its push target has a registration of a later date"
        case .notForUs: "not for this router"
        case .refused(let refusal): refusal.reason
        }
    }

    fileprivate var verdict: EventVerdict.Result {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .accepted
        case .duplicate: .duplicate
        case .ended, .outdated, .superseded, .notForUs, .refused: .refused(message)
        }
    }
}
