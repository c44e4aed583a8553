import Core
import Delivery
import Nostr
import Push
import Registry
import Rules
import Storage

/// The registry stage: keeps the match index up to date, and writes the registrations and lists from events.
/// Consecutive ones form a ``Row``, which is written in one transaction.
struct RegistryStage: ~Copyable {
    /// The results of writing a ``Row``.
    struct RowResult {
        fileprivate(set) var outcomes: [EventOutcome] = []
        /// Accounts' own lists that are known now, or cannot be fetched now.
        fileprivate(set) var lists: [Event] = []
        /// Accounts' own lists that also notify others, and that the disk refused.
        fileprivate(set) var notKept: [EventID] = []
    }

    /// Consecutive events for one transaction: registrations, lists of relays and devices, or accounts' own lists.
    private struct Row {
        var registrations: [Event] = []
        /// The registrations from a listed network.
        var listed: Set<EventID> = []
        var lists: [Event] = []
        /// Accounts' own lists that name no account here.
        var recipientLists: [Event] = []
        /// Accounts' own lists that name other accounts and may notify them.
        var addressedLists: [Event] = []

        var hasRecipientLists: Bool { !recipientLists.isEmpty || !addressedLists.isEmpty }
        var isEmpty: Bool { registrations.isEmpty && lists.isEmpty && !hasRecipientLists }
    }

    private static let deletedRegistration = MachineReadablePrefix.blocked.message(
        "its author deleted this registration: sign a new one"
    )

    private let registry: Registry
    /// The feed of this pipeline's accounts; nil means all accounts.
    private let feed: IndexFeed?
    private let signer: (any RemoteSigner)?
    private let trouble: ErrorLog
    private(set) var index: MatchIndex
    private(set) var lists: RecipientLists
    private var row = Row()
    /// Authors whose lists of relays and devices concern no account here. Cleared when a device registers.
    private var strangers = BoundedCache<PublicKey, Void>(capacity: 100_000)

    /// Loads the index. `signer` admits registrations. Throws if the registry cannot be read.
    init(
        _ registry: Registry,
        feed: IndexFeed?,
        _ settings: PipelineSettings,
        _ signer: (any RemoteSigner)?,
        trouble: ErrorLog
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

    /// The keys by which events may name the router.
    var keys: RouterKeyNames { registry.keys.names }

    // MARK: The index

    /// The changes that the index follows.
    var changes: IndexFeed { feed ?? registry.allChanges }

    /// Updates the index and calls `each` for every change. Returns false if there was none.
    mutating func update(each: (IndexChange) -> Void) -> Bool { registry.update(&index, from: feed, each: each) > 0 }

    /// Switches from the `old` settings to `new` ones. Returns whether other lists of accounts are read from now on.
    /// Throws, and changes nothing, if the registry cannot be read.
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

    /// Removes lists that neither rules nor filters read any longer. If that fails, the next start tries again.
    func removeUnreadLists(at now: Timestamp) {
        do { try lists.removeUnread() } catch { trouble.occurred(error, at: now) }
    }

    /// Whether a list is worth a signature check. True if the registry cannot be read.
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

    /// Whether the row must be written before an event of that kind, because its changes apply from the next event on.
    func mustSettle(before kind: Kind, isRecipientList: Bool) -> Bool {
        if row.isEmpty { return false }
        switch kind {
        case .pushRegistration, .addressablePushRegistration: return !row.lists.isEmpty || row.hasRecipientLists
        case .relayList, .deviceList: return !row.registrations.isEmpty || row.hasRecipientLists
        default: return !isRecipientList || !row.registrations.isEmpty || !row.lists.isEmpty
        }
    }

    /// Whether the row contains an account's own list. It applies from the next event on, which may be a list too.
    var hasRecipientLists: Bool { row.hasRecipientLists }

    /// Adds a registration, or returns the outcome if it is refused.
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

    /// Adds an account's own list. `isAddressed` is whether it also notifies others, or is not a new event.
    mutating func add(recipientList event: Event, isAddressed: Bool) {
        if isAddressed { row.addressedLists.append(event) } else { row.recipientLists.append(event) }
    }

    /// Writes the row to the registry. Returns nil if it is empty. The index is not updated yet.
    mutating func settle(at now: Timestamp) -> RowResult? {
        guard !row.isEmpty else { return nil }
        defer { row = Row() }
        var settlement = RowResult()
        if !row.registrations.isEmpty { register(at: now, &settlement) }
        if !row.lists.isEmpty { learn(row.lists, at: now, &settlement) }
        if row.hasRecipientLists { learnRecipientLists(at: now, &settlement) }
        return settlement
    }

    private mutating func register(at now: Timestamp, _ settlement: inout RowResult) {
        let events = row.registrations
        strangers.removeAll()
        do {
            let results = try registry.apply(events, listed: row.listed)
            // A refusal or a duplicate does not show whether the disk works.
            if results.contains(where: \.isChange) { trouble.passed(at: now) }
            for (event, result) in zip(events, results) {
                settlement.outcomes.append(result.outcome(of: event))
            }
        } catch {
            trouble.occurred(error, at: now)
            settlement.outcomes += events.map { .notKept($0.id, account: $0.pubkey) }
        }
    }

    private func learn(_ events: [Event], at now: Timestamp, _ settlement: inout RowResult) {
        do {
            let results = try registry.learn(events)
            settlement.lists += try lists.keepWhole(events, in: index)
            for (event, result) in zip(events, results) {
                var outcome = result.outcome(of: event.id)
                // The authors of other lists would reveal who knows whom.
                if result != .ignored, index.account(of: event.pubkey) != nil { outcome.account = event.pubkey }
                settlement.outcomes.append(outcome)
            }
        } catch {
            trouble.occurred(error, at: now)
            settlement.outcomes += events.map { .notKept($0.id) }
        }
    }

    private func learnRecipientLists(at now: Timestamp, _ settlement: inout RowResult) {
        let events = row.recipientLists + row.addressedLists
        do {
            try lists.learn(events)
            for (number, event) in events.enumerated() {
                // A list that names no account here may come again: a person in it may register later.
                let end = number < row.recipientLists.count ? EventOutcome.Status.stopped(.accepted) : .open
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

    /// Applies a registration from a request, and returns the outcome. The index is not updated yet.
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

/// Stores accounts' own lists: contact lists (NIP-02) if rules or filters use follows, and lists that filters read.
struct RecipientLists {
    private let registry: Registry
    /// Whether rules or filters read contact lists.
    private(set) var asksForFollows: Bool
    /// The kinds that are stored whole.
    private(set) var keptKinds: Set<Kind>

    init(_ settings: PipelineSettings, registry: Registry) {
        let filters = EventFilters(settings.filters)
        self.registry = registry
        asksForFollows = settings.rules.asksForFollows || filters.need > .nothing
        keptKinds = filters.keptKinds
    }

    /// All kinds that are read.
    var kinds: Set<Kind> { asksForFollows ? keptKinds.union([.contactList]) : keptKinds }

    /// Whether a list is the newest of its kind from an account. True if the registry cannot be read.
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

    /// Writes lists to the registry.
    func learn(_ lists: [Event]) throws {
        if asksForFollows { try registry.learnFollowed(from: lists) }
        try registry.learnRecipientLists(from: lists.filter { keptKinds.contains($0.kind) })
    }

    /// Stores those of `lists` whole that filters read as well, and returns them. The registry has processed `lists`
    /// already.
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

    /// The word of a ``StepReason``, or the message to the client.
    private var reason: String {
        switch self {
        case .registered: StepReason.newDevice.rawValue
        case .updated: StepReason.deviceReregistered.rawValue
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

    private var answer: EventDecision.Result {
        switch self {
        case .registered, .updated, .deregistered, .waiting: .accepted
        case .moved, .duplicate: .duplicate
        case .ended, .outdated, .superseded, .notForUs, .refused: .refused(message)
        }
    }
}

extension ListResult {
    /// Leaves out the account, which not every reader may see.
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
