import Logging
import Nostr
import Registry

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

    func hold(registration event: Event, into batch: inout Batch) {
        begin(event, into: &batch)
        // A deregistration has no content, and nobody needs a session to leave.
        if !event.content.isEmpty, let signer = doors.remoteSigner, !signer.admits(event) {
            let message = "open a session (NIP-46) with this router first"
            return batch.end(event.id, .noSession, .refused(MachineReadablePrefix.restricted.message(message)))
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
        learnFollowed(held, into: &batch)
        registry.update(&index)
    }

    private func register(_ events: [Event], into batch: inout Batch) {
        guard !events.isEmpty else { return }
        strangers.removeAll()
        do {
            for (event, result) in zip(events, try registry.apply(events)) {
                batch.end(event.id, result.step, result.verdict)
            }
        } catch {
            logger.error("Registrations could not be kept", metadata: ["error": "\(error)"])
            for event in events { batch.end(event.id, .notKept, Batch.notKept) }
        }
    }

    private func learn(_ events: [Event], into batch: inout Batch) {
        guard !events.isEmpty else { return }
        do {
            for (event, learned) in zip(events, try registry.learn(events)) {
                switch learned {
                case .learned:
                    batch.log.note(.learned, event: event.id)
                    batch.finish(event.id)
                case .duplicate:
                    batch.log.note(.duplicate, event: event.id)
                    batch.finish(event.id, .duplicate)
                case .outdated:
                    batch.log.note(.duplicate, event: event.id)
                    batch.finish(event.id, .outdated)
                case .ignored:
                    batch.end(event.id, .unaddressed, .accepted)
                case .refused(let refusal):
                    batch.end(event.id, .listRefused, .refused(refusal.description))
                }
            }
        } catch {
            logger.error("Lists of relays and devices could not be kept", metadata: ["error": "\(error)"])
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
        strangers.removeAll()
        do {
            let result = try registry.apply(event)
            registry.update(&index)
            log.note(result.step, event: event.id)
            return result.verdict
        } catch {
            logger.error("A registration could not be kept", metadata: ["error": "\(error)"])
            log.note(.notKept, event: event.id)
            return Batch.notKept
        }
    }
}

extension RegistrationResult {
    fileprivate var step: PipelineStep {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .registered
        case .duplicate, .outdated: .duplicate
        case .notForUs, .refused: .registrationRefused
        }
    }

    fileprivate var verdict: EventVerdict.Result {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .accepted
        case .duplicate: .duplicate
        case .outdated: .outdated
        case .notForUs, .refused: .refused(message)
        }
    }
}
