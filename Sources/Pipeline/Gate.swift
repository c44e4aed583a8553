import Core
import Nostr
import Registry
import Rules

/// An event that was read as far as the gate needs.
struct IncomingEvent {
    let scanned: ScannedEvent
    let json: UnsafeRawBufferPointer
    let source: EventSource
    /// The place of its verdict.
    let place: AnswerPlace
    /// The result for its signature, where that was checked already.
    let verification: Verification?
}

/// The first stage: lets new events through that concern an account and carry their author's signature. It matches
/// before it verifies, because reading the tags costs a fraction of a signature check.
///
/// It verifies and builds events that name an account, and events that are for the router by their kind: registrations,
/// requests (NIP-46), deletions, and lists (kinds 10002 and 10050) of people that accounts have to do with. On our own
/// socket it verifies every event. It recognises further copies of a verified event by the id and does not verify them
/// again.
struct Gate {
    var scanner = EventScanner()
    private let verifier = EventVerifier(remembersKeys: true)
    private(set) var accepted: AcceptedEvents
    /// Verified, and on their way: of this batch, or waiting for context.
    private var underWay: Set<EventID> = []
    /// What events are for, by the rules and settings.
    var purposes: Purposes
    private var hits: [MatchHit] = []

    /// `memory` is how many ids are remembered at least.
    init(purposes: Purposes, memory: Int = 500_000) {
        self.purposes = purposes
        accepted = AcceptedEvents(memory: memory)
    }

    /// Whether the event scanned last names an account and is new, so that its signature will probably be checked.
    mutating func expectsCheck(
        _ scanned: ScannedEvent,
        from source: EventSource,
        index: borrowing MatchIndex,
        now: Timestamp
    ) -> Bool {
        guard !underWay.contains(scanned.id), !accepted.contains(scanned.id), !isAhead(scanned, at: now) else {
            return false
        }
        return source.isAnswered || (purposes.isRuled(scanned.kind) && concernsAny(scanned, index: index))
    }

    /// Judges the event scanned last. `isListWanted` says whether it is worth a look if it is a list of relays or devices,
    /// an account's own, or a deletion.
    mutating func judge(
        _ incoming: IncomingEvent,
        index: borrowing MatchIndex,
        isListWanted: Bool,
        now: Timestamp
    ) -> GateResult {
        let (scanned, source) = (incoming.scanned, incoming.source)
        // A fetched event is learned from even if it was accepted before.
        if case .relay(.fetched) = source { return built(incoming) { .fetched($0) } }
        if !underWay.isEmpty, underWay.contains(scanned.id) { return .repeated(scanned.id) }
        let purpose = purposes[scanned.kind]
        if accepted.contains(scanned.id) {
            // Nobody asked for its follows before its author had an account here.
            guard purpose == .recipientList, isListWanted else { return stopped(.duplicate, scanned, .duplicate) }
            return built(incoming) { .recipientList($0, []) }
        }
        switch purpose {
        case .registration:
            guard source.isAnswered || isForUs(incoming) else { break }
            return built(incoming) { .registration($0) }
        case .request where purposes.isForUs(scanner.pValues):
            guard source.mayWake else { break }
            return built(incoming) { .request($0) }
        case .list:
            guard source.isAnswered || isListWanted else { break }
            return built(incoming) { .list($0) }
        case .recipientList:
            let accounts = purposes.isRuled(scanned.kind) ? match(scanned, index: index) : []
            guard isListWanted || !accounts.isEmpty else { break }
            if isAhead(scanned, at: now) { return ahead(scanned) }
            return built(incoming) {
                isListWanted ? .recipientList($0, accounts) : .addressed($0, accounts)
            }
        case .deletion:
            guard source.isAnswered || isListWanted else { break }
            return built(incoming) { .deletion($0) }
        case .hint:
            guard source.mayWake else { break }
            let accounts = match(scanned, index: index)
            guard !accounts.isEmpty else { break }
            return built(incoming) { .hint($0, accounts) }
        case .notice, .request:
            guard purpose == .notice || purposes.isRuled(scanned.kind) else { break }
            let accounts = match(scanned, index: index)
            guard !accounts.isEmpty else { break }
            if isAhead(scanned, at: now) { return ahead(scanned) }
            return built(incoming) { .addressed($0, accounts) }
        case .order:
            // Nobody else can say this, whatever the rules are for.
            guard case .api = source else { break }
            return built(incoming) { .addressed($0, match(scanned, index: index)) }
        case .other:
            break
        }
        guard source.isAnswered else { return stopped(.unaddressed, scanned, .accepted) }
        if isAhead(scanned, at: now) { return ahead(scanned) }
        if let error = signatureError(of: incoming) { return forged(scanned, error) }
        return .unaddressed(scanned)
    }

    /// Further copies of a verified event are ``GateResult/repeated(_:)`` until it is remembered or released.
    mutating func hold(_ id: EventID) {
        underWay.insert(id)
    }

    /// An event is no longer on its way, and not done with either.
    mutating func release(_ id: EventID) {
        underWay.remove(id)
    }

    /// Remembers that an event is done with. Only after its signature held and its pushes are kept: a forged copy must
    /// not suppress the real one, and a full disk must not swallow the next attempt.
    mutating func remember(_ id: EventID) {
        underWay.remove(id)
        accepted.insert(id)
    }

    /// Verifies and builds an event.
    private func built(_ incoming: IncomingEvent, as result: (Event) -> GateResult) -> GateResult {
        if let error = signatureError(of: incoming) { return forged(incoming.scanned, error) }
        do throws(EventError) {
            return result(try Event(scanned: incoming.scanned, in: incoming.json))
        } catch {
            return stopped(.malformed, incoming.scanned, .refused(MachineReadablePrefix.invalid.message(error)))
        }
    }

    private func signatureError(of incoming: IncomingEvent) -> EventError? {
        switch incoming.verification ?? verifier.verify(incoming.scanned, in: incoming.json) {
        case .valid: nil
        case .wrongID: .wrongID
        case .wrongSignature: .wrongSignature
        }
    }

    /// The accounts that the event scanned last concerns.
    private mutating func match(_ scanned: ScannedEvent, index: borrowing MatchIndex) -> [AccountNumber] {
        findHits(index)
        return hits.accounts(for: scanned.kind)
    }

    /// Whether there are any.
    private mutating func concernsAny(_ scanned: ScannedEvent, index: borrowing MatchIndex) -> Bool {
        findHits(index)
        return hits.contains { $0.counts(for: scanned.kind) }
    }

    private mutating func findHits(_ index: borrowing MatchIndex) {
        hits.removeAll(keepingCapacity: true)
        scanner.pValues.withUnsafeBufferPointer { index.match($0, into: &hits) }
    }

    /// Other projects use the kinds of registrations as well: of a source that nobody answers, only an event that says
    /// it is for us is worth a signature check.
    private func isForUs(_ incoming: IncomingEvent) -> Bool {
        guard let event = try? Event(scanned: incoming.scanned, in: incoming.json) else { return true }
        return purposes.keys.named(by: event.identifier) != nil
    }

    private func isAhead(_ scanned: ScannedEvent, at now: Timestamp) -> Bool {
        Timestamp(seconds: scanned.createdAt) > now + PipelineSettings.clockTolerance
    }

    private func ahead(_ scanned: ScannedEvent) -> GateResult {
        let reason = "created_at: expected at most \(PipelineSettings.clockTolerance.seconds) seconds ahead of now"
        return stopped(.ahead, scanned, .refused(MachineReadablePrefix.invalid.message(reason)))
    }

    private func forged(_ scanned: ScannedEvent, _ error: EventError) -> GateResult {
        stopped(.forged, scanned, .refused(MachineReadablePrefix.invalid.message(error)))
    }

    private func stopped(_ step: PipelineStep, _ scanned: ScannedEvent, _ result: EventVerdict.Result) -> GateResult {
        .stopped(step, EventVerdict(id: scanned.id, result))
    }
}

/// What the gate makes of an event. Every event in it is verified.
enum GateResult {
    /// It goes no further; the verdict goes to its sender.
    case stopped(PipelineStep, EventVerdict)
    /// It is another copy of one that is on its way.
    case repeated(EventID)
    /// It was asked for, to be learned from.
    case fetched(Event)
    /// It registers a device, by its kind.
    case registration(Event)
    /// It is a request to us (NIP-46).
    case request(Event)
    /// It is a list of relays or devices (kind 10002 or 10050). Those wake nobody.
    case list(Event)
    /// It deletes events of its author (kind 5 or 62). It wakes nobody.
    case deletion(Event)
    /// It is an account's own list, the newest of its kind, and names these accounts.
    case recipientList(Event, [AccountNumber])
    /// It is a wake-up hint for these accounts (kind 20062).
    case hint(Event, [AccountNumber])
    /// It concerns nobody.
    case unaddressed(ScannedEvent)
    /// It names these accounts.
    case addressed(Event, [AccountNumber])

    /// Whether the event's signature was checked.
    var isChecked: Bool {
        switch self {
        case .stopped(let step, _): step == .forged
        case .repeated: false
        case .fetched, .registration, .request, .list, .deletion, .recipientList, .hint, .unaddressed, .addressed: true
        }
    }
}

/// What an event may be for, by its kind: a table with a place for each, since the question comes up for every event.
struct Purposes {
    enum Purpose: UInt8 {
        case registration
        /// A NIP-46 request, to us or to others.
        case request
        /// A list of relays or devices.
        case list
        /// An account's own list that rules or filters read. A rule may be for it as well.
        case recipientList
        /// A wake-up hint.
        case hint
        /// It deletes events of its author.
        case deletion
        /// Something that a rule may be for.
        case notice
        /// The API made it from a notify request.
        case order
        case other
    }

    let keys: RouterKeyNames
    /// Nil: any kind may be notifiable.
    private let notifiableKinds: Set<UInt16>?
    private let table: [Purpose]

    init(
        keys: RouterKeyNames,
        notifiableKinds: Set<UInt16>?,
        takesRequests: Bool,
        takesHints: Bool,
        recipientKinds: Set<Kind>
    ) {
        self.keys = keys
        self.notifiableKinds = notifiableKinds
        table = (0...UInt16.max).map { number in
            switch Kind(number) {
            case .pushRegistration, .addressablePushRegistration: .registration
            case .remoteSigning where takesRequests: .request
            case .relayList, .deviceList: .list
            case .deletion, .requestToVanish: .deletion
            case .requestedNotification: .order
            case .wakeUpHint where takesHints: .hint
            case let kind where recipientKinds.contains(kind): .recipientList
            default: notifiableKinds?.contains(number) ?? true ? .notice : .other
            }
        }
    }

    init(
        _ settings: PipelineSettings,
        _ lists: RecipientLists,
        _ dependencies: PipelineDependencies,
        keys: RouterKeyNames
    ) {
        self.init(
            keys: keys,
            notifiableKinds: settings.rules.notifiableKinds,
            takesRequests: dependencies.remoteSigner != nil,
            takesHints: dependencies.hintHeard != nil,
            recipientKinds: lists.kinds
        )
    }

    subscript(kind: Kind) -> Purpose { table[Int(kind.rawValue)] }

    /// Whether one of these `p` tags names a key that we answer to.
    func isForUs(_ pValues: [Bytes32]) -> Bool { keys.answering.contains { pValues.contains($0.bytes) } }

    /// Whether a rule may be for events of that kind, whatever else they are for.
    func isRuled(_ kind: Kind) -> Bool {
        notifiableKinds?.contains(kind.rawValue) ?? true
    }
}

/// The events that were accepted lately: at least the last `memory`, at most twice as many.
///
/// In two generations: when the younger is full, the older is forgotten. Keeps a secret hash of 64 bits of each id. That
/// another event has the same hash happens once in ten trillion.
struct AcceptedEvents {
    private let hash: KeyHash
    private let memory: Int
    private var younger: Set<UInt64> = []
    private var older: Set<UInt64> = []

    /// `memory` is how many events are remembered at least.
    init(memory: Int) {
        var generator = SystemRandomNumberGenerator()
        hash = KeyHash(using: &generator)
        self.memory = max(1, memory)
    }

    func contains(_ id: EventID) -> Bool {
        let hash = hash(id.bytes)
        return younger.contains(hash) || older.contains(hash)
    }

    mutating func insert(_ id: EventID) {
        if younger.count == memory {
            swap(&younger, &older)
            younger.removeAll(keepingCapacity: true)
        }
        younger.insert(hash(id.bytes))
    }
}
