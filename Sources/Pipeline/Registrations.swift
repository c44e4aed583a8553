import Caching
import Nostr
import Notifications
import Registry
import Storage
import Units

/// The registration stage: brings registrations and lists to the registry, those that come in a row in one transaction.
struct Registrations {
    /// What the registry made of a row.
    struct Settlement {
        fileprivate(set) var outcomes: [EventOutcome] = []
        /// Accounts' own lists that are known now, or not to be had now.
        fileprivate(set) var lists: [Event] = []
        /// Accounts' own lists that were on their way to others too, and that the disk did not take.
        fileprivate(set) var notKept: [EventID] = []
    }

    /// Events that the registry takes in one transaction: registrations, or lists of relays and devices, or accounts'
    /// own lists.
    private struct Row {
        var registrations: [Event] = []
        /// Those of them that came from a listed network.
        var listed: Set<EventID> = []
        var lists: [Event] = []
        /// Accounts' own lists that name nobody here.
        var recipientLists: [Event] = []
        /// Accounts' own lists that name others, and are on their way to them.
        var addressedLists: [Event] = []

        var hasRecipientLists: Bool { !recipientLists.isEmpty || !addressedLists.isEmpty }
        var isEmpty: Bool { registrations.isEmpty && lists.isEmpty && !hasRecipientLists }
    }

    private static let deletedRegistration = MachineReadablePrefix.blocked.message(
        "its author deleted this registration: sign a new one"
    )

    private let registry: Registry
    /// Takes requests (NIP-46), which may carry registrations.
    let signer: (any RemoteSigner)?
    private let trouble: FailureLog
    private(set) var recipientLists: RecipientLists
    private var row = Row()
    /// Authors whose lists of relays and devices concern nobody here, until somebody registers.
    private var strangers = BoundedCache<PublicKey, Void>(capacity: 100_000)

    init(
        registry: Registry,
        signer: (any RemoteSigner)?,
        recipientLists: RecipientLists,
        trouble: FailureLog
    ) {
        self.registry = registry
        self.signer = signer
        self.recipientLists = recipientLists
        self.trouble = trouble
    }

    mutating func adopt(_ lists: RecipientLists) { recipientLists = lists }

    /// Removes lists that neither rules nor filters read any more. The next start tries again if it fails.
    func removeUnreadLists(at now: Timestamp) {
        do { try recipientLists.removeUnread() } catch { trouble.occurred(error, at: now) }
    }

    /// Whether an author's lists of relays and devices are worth a signature check. If the registry cannot be read,
    /// they are.
    mutating func wantsLists(of author: PublicKey, in index: borrowing MatchIndex) -> Bool {
        if index.account(of: author) != nil { return true }
        if strangers.contains(author) { return false }
        guard (try? registry.concerns(author)) == false else { return true }
        strangers.insert(author)
        return false
    }

    // MARK: The row

    /// Whether the row has to be settled before an event of that kind: what the row changes counts for the very next
    /// event.
    func mustSettle(before kind: Kind, isRecipientList: Bool) -> Bool {
        if row.isEmpty { return false }
        switch kind {
        case .pushRegistration, .addressablePushRegistration: return !row.lists.isEmpty || row.hasRecipientLists
        case .relayList, .deviceList: return !row.registrations.isEmpty || row.hasRecipientLists
        default: return !isRecipientList || !row.registrations.isEmpty || !row.lists.isEmpty
        }
    }

    /// Whether an account's own list waits in the row. It counts for the very next event, which may be a list too.
    var hasRecipientLists: Bool { row.hasRecipientLists }

    /// Adds a registration; or says at once how its way ends. `isListed`: it came from a listed network.
    mutating func add(registration event: Event, isDeleted: Bool, isListed: Bool) -> EventOutcome? {
        if let outcome = refusal(of: event, isDeleted: isDeleted) { return outcome }
        row.registrations.append(event)
        if isListed { row.listed.insert(event.id) }
        return nil
    }

    mutating func add(list event: Event) { row.lists.append(event) }

    /// Adds an account's own list. `isAddressed`: it is on its way to others that it names, or no new event.
    mutating func add(recipientList event: Event, isAddressed: Bool) {
        if isAddressed { row.addressedLists.append(event) } else { row.recipientLists.append(event) }
    }

    /// Brings the row to the registry; nil: there is none.
    mutating func settle(in index: borrowing MatchIndex, at now: Timestamp) -> Settlement? {
        guard !row.isEmpty else { return nil }
        defer { row = Row() }
        var settlement = Settlement()
        if !row.registrations.isEmpty { register(row.registrations, listed: row.listed, at: now, &settlement) }
        if !row.lists.isEmpty { learn(row.lists, in: index, at: now, &settlement) }
        if row.hasRecipientLists { learnRecipientLists(at: now, &settlement) }
        return settlement
    }

    private func refusal(of event: Event, isDeleted: Bool) -> EventOutcome? {
        func outcome(_ step: PipelineStep, _ message: String) -> EventOutcome {
            EventOutcome(event: event.id, end: .stopped(.refused(message)), step: step, account: event.pubkey)
        }
        if isDeleted { return outcome(.deleted, Self.deletedRegistration) }
        // A deregistration has no content, and needs no session.
        guard !event.content.isEmpty, let signer, !signer.admits(event) else { return nil }
        let message = "open a session (NIP-46) with this router first"
        return outcome(.noSession, MachineReadablePrefix.restricted.message(message))
    }

    private mutating func register(
        _ events: [Event],
        listed: Set<EventID>,
        at now: Timestamp,
        _ settlement: inout Settlement
    ) {
        strangers.removeAll()
        do {
            let results = try registry.apply(events, listed: listed)
            // A refusal or a duplicate says nothing about the disk.
            if results.contains(where: \.isChange) { trouble.passed(at: now) }
            for (event, result) in zip(events, results) {
                settlement.outcomes.append(result.outcome(of: event))
            }
        } catch {
            trouble.occurred(error, at: now)
            settlement.outcomes += events.map { .notKept($0.id, account: $0.pubkey) }
        }
    }

    private func learn(
        _ events: [Event],
        in index: borrowing MatchIndex,
        at now: Timestamp,
        _ settlement: inout Settlement
    ) {
        do {
            let results = try registry.learn(events)
            settlement.lists += try recipientLists.keepWhole(events, in: index)
            for (event, result) in zip(events, results) {
                // The authors of other lists would show who knows whom.
                let account = index.account(of: event.pubkey) == nil ? nil : event.pubkey
                var outcome: EventOutcome
                switch result {
                case .learned:
                    outcome = EventOutcome(event: event.id, end: .finished(.accepted), step: .learned)
                case .duplicate:
                    outcome = EventOutcome(event: event.id, end: .finished(.duplicate), step: .duplicate)
                case .outdated:
                    outcome = EventOutcome(event: event.id, end: .finished(.outdated), step: .duplicate)
                    outcome.reason = StepReason.outdated.rawValue
                case .ignored:
                    settlement.outcomes.append(
                        EventOutcome(event: event.id, end: .stopped(.accepted), step: .unaddressed)
                    )
                    continue
                case .refused(let refusal):
                    let result = EventVerdict.Result.refused(refusal.description)
                    outcome = EventOutcome(event: event.id, end: .stopped(result), step: .listRefused)
                    outcome.reason = refusal.reason
                }
                outcome.account = account
                settlement.outcomes.append(outcome)
            }
        } catch {
            trouble.occurred(error, at: now)
            settlement.outcomes += events.map { .notKept($0.id) }
        }
    }

    private func learnRecipientLists(at now: Timestamp, _ settlement: inout Settlement) {
        let events = row.recipientLists + row.addressedLists
        do {
            try recipientLists.learn(events)
            for (number, event) in events.enumerated() {
                // A list that names nobody here may come again: somebody it names may register yet.
                let end = number < row.recipientLists.count ? EventOutcome.End.stopped(.accepted) : .open
                settlement.outcomes.append(
                    EventOutcome(event: event.id, end: end, step: .learned, account: event.pubkey)
                )
            }
        } catch {
            trouble.occurred(error, at: now)
            settlement.outcomes += row.recipientLists.map { .notKept($0.id, account: $0.pubkey) }
            settlement.notKept = row.addressedLists.map(\.id)
        }
        settlement.lists += events
    }

    // MARK: Requests

    /// Takes a registration that came inside of a request, and says what became of it.
    mutating func register(
        carried event: Event,
        isDeleted: Bool,
        isListed: Bool,
        at now: Timestamp
    ) -> EventOutcome {
        do throws(EventError) {
            try event.verify()
        } catch {
            let message = MachineReadablePrefix.invalid.message(error)
            return EventOutcome(event: event.id, end: .stopped(.refused(message)), step: .forged)
        }
        guard !isDeleted else {
            let result = EventVerdict.Result.refused(Self.deletedRegistration)
            return EventOutcome(event: event.id, end: .stopped(result), step: .deleted, account: event.pubkey)
        }
        strangers.removeAll()
        do {
            return try registry.apply(event, isListed: isListed).outcome(of: event)
        } catch {
            trouble.occurred(error, at: now)
            return .notKept(event.id, account: event.pubkey)
        }
    }
}

extension RegistrationResult {
    fileprivate func outcome(of event: Event) -> EventOutcome {
        EventOutcome(
            event: event.id,
            end: .stopped(verdict),
            step: step,
            account: event.pubkey,
            device: device,
            reason: reason
        )
    }

    private var step: PipelineStep {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .registered
        case .moved, .duplicate, .ended, .outdated, .superseded: .duplicate
        case .notForUs, .refused: .registrationRefused
        }
    }

    private var device: DeviceID? {
        switch self {
        case .registered(let device), .updated(let device): device
        default: nil
        }
    }

    /// By its word, or what the client is told.
    private var reason: String {
        switch self {
        case .registered: StepReason.newDevice.rawValue
        case .updated: StepReason.deviceAnew.rawValue
        case .deregistered: StepReason.deregistered.rawValue
        case .moved: StepReason.formerKey.rawValue
        case .waiting: StepReason.unlisted.rawValue
        case .duplicate: StepReason.known.rawValue
        case .ended: StepReason.ended.rawValue
        case .outdated: StepReason.outdated.rawValue
        case .superseded: StepReason.superseded.rawValue
        case .notForUs: StepReason.notForUs.rawValue
        case .refused(let refusal): refusal.reason
        }
    }

    private var verdict: EventVerdict.Result {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .accepted
        case .moved, .duplicate: .duplicate
        case .ended, .outdated, .superseded, .notForUs, .refused: .refused(message)
        }
    }
}
