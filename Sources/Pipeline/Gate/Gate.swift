import Nostr
import Registry

/// The first stage: reads an event as far as it must, and lets through only what is new, concerns somebody, and is
/// really its author's. Matches before it verifies, since a look at the tags costs a fraction of a signature check.
struct Gate {
    /// What the gate makes of an event.
    enum Passage {
        /// It goes no further; `verdict` is what its sender is told.
        case stopped(PipelineStep, EventVerdict)
        /// It registers a device, by its kind; verified.
        case registration(Event)
        /// It concerns nobody; verified, since its source is answered.
        case unaddressed(ScannedEvent)
        /// It names these accounts; verified.
        case addressed(Event, [MatchHit])
    }

    private var scanner = EventScanner()
    private let verifier = EventVerifier()
    private var accepted: GenerationalSet<EventID>
    /// Nil: any kind may be notifiable.
    private let notifiableKinds: Set<UInt16>?
    private var hits: [MatchHit] = []

    /// `memory` is how many ids are remembered at least.
    init(notifiableKinds: Set<UInt16>?, memory: Int = 500_000) {
        self.notifiableKinds = notifiableKinds
        self.accepted = GenerationalSet(capacity: memory)
    }

    /// Judges the bytes of one event.
    mutating func admit(
        _ json: UnsafeRawBufferPointer,
        from source: EventSource,
        index: borrowing MatchIndex
    ) -> Passage {
        let scanned: ScannedEvent
        do {
            scanned = try scanner.scan(json)
        } catch {
            return stopped(.malformed, nil, .refused(MachineReadablePrefix.invalid.message(error)))
        }
        if accepted.contains(scanned.id) { return stopped(.duplicate, scanned.id, .duplicate) }

        let isRegistration = scanned.kind == .pushRegistration || scanned.kind == .addressablePushRegistration
        match(scanned, index: index)
        if hits.isEmpty && !isRegistration && !source.isAnswered {
            return stopped(.unaddressed, scanned.id, .accepted)
        }
        if let fault = fault(of: scanned, in: json) {
            return stopped(.forged, scanned.id, .refused(MachineReadablePrefix.invalid.message(fault)))
        }
        if hits.isEmpty && !isRegistration { return .unaddressed(scanned) }
        do {
            let event = try Event(scanned: scanned, in: json)
            return isRegistration ? .registration(event) : .addressed(event, hits)
        } catch {
            return stopped(.malformed, scanned.id, .refused(MachineReadablePrefix.invalid.message(error)))
        }
    }

    /// Remembers that an event is done with. Only after its signature held and what it wakes is kept: a forged copy must not
    /// suppress the real one, and a full disk must not swallow the next attempt.
    mutating func remember(_ id: EventID) {
        accepted.insert(id)
    }

    private func fault(of scanned: ScannedEvent, in json: UnsafeRawBufferPointer) -> EventError? {
        switch verifier.verify(scanned, in: json) {
        case .valid: nil
        case .wrongID: .wrongID
        case .wrongSignature: .wrongSignature
        }
    }

    private mutating func match(_ scanned: ScannedEvent, index: borrowing MatchIndex) {
        hits.removeAll(keepingCapacity: true)
        if let notifiableKinds, !notifiableKinds.contains(scanned.kind.rawValue) { return }
        scanner.pValues.withUnsafeBufferPointer { index.match($0, into: &hits) }
    }

    private func stopped(_ step: PipelineStep, _ id: EventID?, _ result: EventVerdict.Result) -> Passage {
        .stopped(step, EventVerdict(id: id, result))
    }
}
