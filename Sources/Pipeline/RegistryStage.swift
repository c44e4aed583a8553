import Core
import Delivery
import Nostr
import Push
import Registry
import Rules
import Storage

/// The registry as the stages see it: the match index, which follows it, and the registrations and lists that events
/// bring to it, those that come in a row in one transaction.
struct RegistryStage: ~Copyable {
    /// What the registry made of a row.
    struct Settlement {
        fileprivate(set) var outcomes: [EventOutcome] = []
        /// Accounts' own lists that are known now, or cannot be had now.
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
        /// Accounts' own lists that name no account here.
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
    /// The accounts that this pipeline is for; nil: all.
    private let feed: IndexFeed?
    private let signer: (any RemoteSigner)?
    private let trouble: FailureLog
    private(set) var index: MatchIndex
    private(set) var lists: RecipientLists
    private var row = Row()
    /// Authors whose lists of relays and devices concern no account here, until somebody registers.
    private var strangers = BoundedCache<PublicKey, Void>(capacity: 100_000)

    /// Loads the index. `signer` admits registrations. Throws when the registry cannot be read.
    init(
        _ registry: Registry,
        feed: IndexFeed?,
        _ settings: PipelineSettings,
        _ signer: (any RemoteSigner)?,
        trouble: FailureLog
    ) throws {
        let lists = RecipientLists(settings, registry: registry)
        try lists.removeUnread()
        index = try registry.load(
            signals: Array(settings.rules.namedSignals),
            languages: settings.rules.languages,
            from: feed
        )
        self.registry = registry
        self.feed = feed
        self.signer = signer
        self.trouble = trouble
        self.lists = lists
    }

    /// The keys that events may name us by.
    var keys: RouterKeyNames { registry.keys.names }

    // MARK: The index

    /// The changes that the index follows.
    var changes: IndexFeed { feed ?? registry.allChanges }

    /// Brings the index up to date and calls `each` with what changed. False when nothing did.
    mutating func update(each: (IndexChange) -> Void) -> Bool { registry.update(&index, from: feed, each: each) > 0 }

    /// Follows `new` settings instead of `old` ones. Returns whether other lists of accounts are read from now on.
    /// Throws, and changes nothing, when the registry cannot be read.
    mutating func adopt(
        _ new: PipelineSettings,
        insteadOf old: PipelineSettings,
        each: (IndexChange) -> Void
    ) throws -> Bool {
        if new.rules.namedSignals != old.rules.namedSignals || new.rules.languages != old.rules.languages {
            try registry.rename(
                signals: Array(new.rules.namedSignals),
                languages: new.rules.languages,
                in: &index,
                from: feed,
                each: each
            )
        }
        let before = lists
        lists = RecipientLists(new, registry: registry)
        return lists.keptKinds != before.keptKinds || lists.asksForFollows != before.asksForFollows
    }

    /// Removes lists that neither rules nor filters read any more. The next start tries again if it fails.
    func removeUnreadLists(at now: Timestamp) {
        do { try lists.removeUnread() } catch { trouble.occurred(error, at: now) }
    }

    /// Whether a list is worth a signature check. If the registry cannot be read, it is.
    mutating func wants(_ scanned: ScannedEvent, for purpose: Purposes.Purpose) -> Bool {
        let author = scanned.pubkey
        switch purpose {
        case .list:
            if index.account(of: author) != nil { return true }
            if strangers.contains(author) { return false }
            guard (try? registry.concerns(author)) == false else { return true }
            strangers.insert(author)
            return false
        case .recipientList:
            return lists.wants(
                scanned.kind,
                of: author,
                in: index,
                SlotMark(createdAt: scanned.createdAt, id: scanned.id)
            )
        default: return false
        }
    }

    /// Whether a fetched event is a newer list of an account, of a kind that is read.
    func wants(fetched list: Event) -> Bool { lists.wants(list.kind, of: list.pubkey, in: index, SlotMark(list)) }

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

    /// Adds a registration; or returns how its way ends.
    mutating func add(registration event: Event, isDeleted: Bool, from source: EventSource) -> EventOutcome? {
        if isDeleted { return Self.refused(event, .deleted, Self.deletedRegistration) }
        // A deregistration has no content, and needs no session.
        if !event.content.isEmpty, let signer, !signer.admits(event) {
            let message = "open a session (NIP-46) with this router first"
            return Self.refused(event, .noSession, MachineReadablePrefix.restricted.message(message))
        }
        row.registrations.append(event)
        if source.isListed { row.listed.insert(event.id) }
        return nil
    }

    mutating func add(list event: Event) { row.lists.append(event) }

    /// Adds an account's own list. `isAddressed`: it is on its way to others that it names, or no new event.
    mutating func add(recipientList event: Event, isAddressed: Bool) {
        if isAddressed { row.addressedLists.append(event) } else { row.recipientLists.append(event) }
    }

    /// Brings the row to the registry; nil: there is none. The index does not know of it yet.
    mutating func settle(at now: Timestamp) -> Settlement? {
        guard !row.isEmpty else { return nil }
        defer { row = Row() }
        var settlement = Settlement()
        if !row.registrations.isEmpty { register(at: now, &settlement) }
        if !row.lists.isEmpty { learn(row.lists, at: now, &settlement) }
        if row.hasRecipientLists { learnRecipientLists(at: now, &settlement) }
        return settlement
    }

    private mutating func register(at now: Timestamp, _ settlement: inout Settlement) {
        let events = row.registrations
        strangers.removeAll()
        do {
            let results = try registry.apply(events, listed: row.listed)
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

    private func learn(_ events: [Event], at now: Timestamp, _ settlement: inout Settlement) {
        do {
            let results = try registry.learn(events)
            settlement.lists += try lists.keepWhole(events, in: index)
            for (event, result) in zip(events, results) {
                var outcome = result.outcome(of: event.id)
                // The authors of other lists would show who knows whom.
                if result != .ignored, index.account(of: event.pubkey) != nil { outcome.account = event.pubkey }
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
            try lists.learn(events)
            for (number, event) in events.enumerated() {
                // A list that names no account here may come again: somebody it names may register yet.
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

    /// Takes a registration that came inside of a request, and returns the result. The index does not know of it yet.
    mutating func register(
        _ event: Event,
        isDeleted: Bool,
        from source: EventSource,
        at now: Timestamp
    ) -> EventOutcome {
        do throws(EventError) {
            try event.verify()
        } catch {
            let message = MachineReadablePrefix.invalid.message(error)
            return EventOutcome(event: event.id, end: .stopped(.refused(message)), step: .forged)
        }
        guard !isDeleted else { return Self.refused(event, .deleted, Self.deletedRegistration) }
        strangers.removeAll()
        do {
            return try registry.apply(event, isListed: source.isListed).outcome(of: event)
        } catch {
            trouble.occurred(error, at: now)
            return .notKept(event.id, account: event.pubkey)
        }
    }

    private static func refused(_ event: Event, _ step: PipelineStep, _ message: String) -> EventOutcome {
        EventOutcome(event: event.id, end: .stopped(.refused(message)), step: step, account: event.pubkey)
    }
}

/// Accounts' own lists: the contact list (NIP-02), only where rules or filters ask who is followed, and lists that
/// filters read.
struct RecipientLists {
    private let registry: Registry
    /// Whether rules or filters read contact lists.
    private(set) var asksForFollows: Bool
    /// The kinds that are kept whole.
    private(set) var keptKinds: Set<Kind>

    init(_ settings: PipelineSettings, registry: Registry) {
        let filters = EventFilters(settings.filters)
        self.registry = registry
        asksForFollows = settings.rules.asksForFollows || filters.need > .nothing
        keptKinds = filters.keptKinds
    }

    /// The kinds that are read at all.
    var kinds: Set<Kind> { asksForFollows ? keptKinds.union([.contactList]) : keptKinds }

    /// Whether a list is an account's newest of its kind. If the registry cannot be read, it may be.
    func wants(
        _ kind: Kind,
        of author: PublicKey,
        in index: borrowing MatchIndex,
        _ mark: @autoclosure () -> SlotMark
    ) -> Bool {
        guard index.account(of: author) != nil else { return false }
        do {
            let mark = mark()
            if kind == .contactList, asksForFollows, try registry.wantsContactList(of: author, mark) { return true }
            return try keptKinds.contains(kind) && registry.wantsRecipientList(kind, of: author, mark)
        } catch {
            return true
        }
    }

    /// Brings lists to the registry.
    func learn(_ lists: [Event]) throws {
        if asksForFollows { try registry.learnFollowed(from: lists) }
        try registry.learnRecipientLists(from: lists.filter { keptKinds.contains($0.kind) })
    }

    /// Keeps those of `lists`, which the registry took already, whole that filters read as well. Returns these.
    func keepWhole(_ lists: [Event], in index: borrowing MatchIndex) throws -> [Event] {
        var wanted: [Event] = []
        for list in lists where keptKinds.contains(list.kind) && index.account(of: list.pubkey) != nil {
            wanted.append(list)
        }
        if !wanted.isEmpty { try registry.learnRecipientLists(from: wanted) }
        return wanted
    }

    /// Removes lists that neither rules nor filters read.
    func removeUnread() throws {
        if !asksForFollows { try registry.forgetFollowed() }
        try registry.forgetRecipientLists(but: keptKinds)
    }
}

extension RegistrationResult {
    fileprivate func outcome(of event: Event) -> EventOutcome {
        EventOutcome(
            event: event.id,
            end: .stopped(answer),
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

    private var answer: EventVerdict.Result {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .accepted
        case .moved, .duplicate: .duplicate
        case .ended, .outdated, .superseded, .notForUs, .refused: .refused(message)
        }
    }
}

extension ListResult {
    /// Without the account, which not everybody may learn.
    fileprivate func outcome(of event: EventID) -> EventOutcome {
        switch self {
        case .learned: EventOutcome(event: event, end: .finished(.accepted), step: .learned)
        case .duplicate: EventOutcome(event: event, end: .finished(.duplicate), step: .duplicate)
        case .outdated:
            EventOutcome(
                event: event,
                end: .finished(.outdated),
                step: .duplicate,
                reason: StepReason.outdated.rawValue
            )
        case .ignored: EventOutcome(event: event, end: .stopped(.accepted), step: .unaddressed)
        case .refused(let error):
            EventOutcome(
                event: event,
                end: .stopped(.refused(error.description)),
                step: .listRefused,
                reason: error.reason
            )
        }
    }
}
