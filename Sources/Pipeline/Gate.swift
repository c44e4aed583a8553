import Core
import Nostr
import Registry
import Rules

/// An event with the fields that the gate reads.
struct IncomingEvent {
    let scanned: ScannedEvent
    let json: UnsafeRawBufferPointer
    let source: EventSource
    /// The position of its decision.
    let place: AnswerPlace
    /// The result of its signature check, if it was already done.
    let verification: Verification?
}

/// The first stage: passes new events that concern an account and are signed by their author. It matches before it
/// verifies, because reading the tags costs a fraction of a signature check.
///
/// It verifies and builds events that name an account, and events whose kind is meant for the router: registrations,
/// requests (NIP-46), deletions, and lists (kinds 10002 and 10050) of people related to accounts. On the router's own
/// socket it verifies every event. It recognises more copies of a verified event by the id and does not verify them
/// again.
struct Gate {
    var scanner = EventScanner()
    private let verifier = EventVerifier(remembersKeys: true)
    private(set) var accepted: AcceptedEvents
    /// Verified events in progress: those of this batch, and those that wait for context.
    private var underWay: Set<EventID> = []
    /// The purpose of each kind, according to rules and settings.
    var purposes: Purposes
    private var hits: [MatchHit] = []

    /// `memory` is the minimum number of ids to remember.
    init(purposes: Purposes, memory: Int = 500_000) {
        self.purposes = purposes
        accepted = AcceptedEvents(memory: memory)
    }

    /// Whether the last scanned event names an account and is new, so that its signature will probably be checked.
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

    /// Decides about the last scanned event. `isListWanted` is whether to check it if it is a list of relays or
    /// devices, an account's own list, or a deletion.
    mutating func judge(
        _ incoming: IncomingEvent,
        index: borrowing MatchIndex,
        isListWanted: Bool,
        now: Timestamp
    ) -> GateResult {
        let (scanned, source) = (incoming.scanned, incoming.source)
        // A fetched event is used as context even if it was accepted before.
        if case .relay(.fetched) = source { return built(incoming) { .fetched($0) } }
        if !underWay.isEmpty, underWay.contains(scanned.id) { return .repeated(scanned.id) }
        let purpose = purposes[scanned.kind]
        if accepted.contains(scanned.id) {
            // The follows in it were not read before its author had an account here.
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
            // Only the API can create these events, regardless of the rules.
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

    /// Makes more copies of a verified event ``GateResult/repeated(_:)`` until it is remembered or released.
    mutating func hold(_ id: EventID) {
        underWay.insert(id)
    }

    /// Ends the progress of an event that is not finished.
    mutating func release(_ id: EventID) {
        underWay.remove(id)
    }

    /// Remembers a finished event. Call this only after its signature was valid and its pushes are on disk: a forged
    /// copy must not suppress the real event, and a full disk must not swallow the next attempt.
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

    /// The accounts that the last scanned event concerns.
    private mutating func match(_ scanned: ScannedEvent, index: borrowing MatchIndex) -> [AccountNumber] {
        findHits(index)
        return hits.accounts(for: scanned.kind)
    }

    /// Whether the last scanned event concerns any account.
    private mutating func concernsAny(_ scanned: ScannedEvent, index: borrowing MatchIndex) -> Bool {
        findHits(index)
        return hits.contains { $0.counts(for: scanned.kind) }
    }

    private mutating func findHits(_ index: borrowing MatchIndex) {
        hits.removeAll(keepingCapacity: true)
        scanner.pValues.withUnsafeBufferPointer { index.match($0, into: &hits) }
    }

    /// Other projects use the registration kinds too. From sources that get no answer, only events addressed to this
    /// router are worth a signature check.
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

    private func stopped(_ step: PipelineStep, _ scanned: ScannedEvent, _ result: EventDecision.Result) -> GateResult {
        .stopped(step, EventDecision(id: scanned.id, result))
    }
}

/// The gate's decision about an event. Every event in it is verified.
enum GateResult {
    /// Processing ends; the sender gets the decision.
    case stopped(PipelineStep, EventDecision)
    /// Another copy of an event in progress.
    case repeated(EventID)
    /// An event that was requested as context.
    case fetched(Event)
    /// An event of a kind that registers devices.
    case registration(Event)
    /// A request to the router (NIP-46).
    case request(Event)
    /// A list of relays or devices (kind 10002 or 10050). These lists send no notification.
    case list(Event)
    /// A deletion of its author's events (kind 5 or 62). It sends no notification.
    case deletion(Event)
    /// An account's own list, the newest of its kind, that names these accounts.
    case recipientList(Event, [AccountNumber])
    /// A wake-up hint for these accounts (kind 20062).
    case hint(Event, [AccountNumber])
    /// An event that concerns no account.
    case unaddressed(ScannedEvent)
    /// An event that names these accounts.
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

/// The possible purpose of each event kind: a table with an entry per kind, because it is read for every event.
struct Purposes {
    enum Purpose: UInt8 {
        case registration
        /// A NIP-46 request, to the router or to others.
        case request
        /// A list of relays or devices.
        case list
        /// An account's own list that rules or filters read. A rule may match it too.
        case recipientList
        /// A wake-up hint.
        case hint
        /// A deletion of its author's events.
        case deletion
        /// An event that a rule may match.
        case notice
        /// An event that the API made from a notify request.
        case order
        case other
    }

    let keys: RouterKeyNames
    /// Nil if any kind may be notifiable.
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

    /// Whether one of these `p` tags names a key of the router.
    func isForUs(_ pValues: [Bytes32]) -> Bool { keys.answering.contains { pValues.contains($0.bytes) } }

    /// Whether a rule may match events of that kind, in addition to their other purposes.
    func isRuled(_ kind: Kind) -> Bool {
        notifiableKinds?.contains(kind.rawValue) ?? true
    }
}

/// The recently accepted events: at least the last `memory`, and up to twice as many.
///
/// It has two generations: when the younger one is full, the older one is dropped. It stores a 64-bit keyed hash of
/// each id. The probability that another event has the same hash is one in ten trillion.
struct AcceptedEvents {
    private let hash: KeyHash
    private let memory: Int
    private var younger: Set<UInt64> = []
    private var older: Set<UInt64> = []

    /// `memory` is the minimum number of events to remember.
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
