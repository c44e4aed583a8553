import Delivery
import Nostr
import Registry
import Rules
import Storage
import Units

/// The registry as the stages see it: the match index, which follows it, and what events bring to it, which are
/// registrations, lists and deletions.
struct RegistryStage: ~Copyable {
    private let registry: Registry
    /// The accounts that this pipeline is for; nil: all.
    private let feed: IndexFeed?
    private(set) var index: MatchIndex
    private var registrations: Registrations
    private var deletions: Deletions

    /// Loads the index. Throws when the registry cannot be read.
    init(
        _ registry: Registry,
        feed: IndexFeed?,
        _ settings: PipelineSettings,
        _ dependencies: PipelineDependencies,
        trouble: FailureLog
    ) throws {
        let lists = RecipientLists(settings, EventFilters(settings.filters), registry: registry)
        try lists.removeUnread()
        // All that may fail comes first.
        let withdrawals = try dependencies.paceStore?.withdrawals() ?? []
        let index = try registry.load(
            signals: Array(settings.rules.namedSignals),
            languages: settings.rules.languages,
            from: feed
        )
        self.registry = registry
        self.feed = feed
        self.index = index
        registrations = Registrations(
            registry: registry,
            signer: dependencies.remoteSigner,
            recipientLists: lists,
            trouble: trouble
        )
        deletions = Deletions(
            withdrawals,
            registry: registry,
            // Whoever hands a deletion over to the pipeline of a partition has ended them.
            endsRegistrations: feed == nil,
            isOurRelay: dependencies.isOurRelay,
            trouble: trouble
        )
    }

    /// Takes requests (NIP-46), which may carry registrations.
    var signer: (any RemoteSigner)? { registrations.signer }
    var recipientLists: RecipientLists { registrations.recipientLists }
    /// The keys that events may name us by.
    var keys: RouterKeyNames { registry.keys.names }

    // MARK: The index

    /// The changes that the index follows.
    var changes: IndexFeed { feed ?? registry.allChanges }

    /// Brings the index up to date and calls `each` with what changed. False when nothing did.
    mutating func update(each: (IndexChange) -> Void) -> Bool { registry.update(&index, from: feed, each: each) > 0 }

    /// Follows `new` settings in place of `old` ones. Returns whether other lists of accounts are read from now on.
    /// Throws, and changes nothing, when the registry cannot be read.
    mutating func adopt(
        _ new: PipelineSettings,
        inPlaceOf old: PipelineSettings,
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
        let (before, lists) = (recipientLists, RecipientLists(new, EventFilters(new.filters), registry: registry))
        registrations.adopt(lists)
        return lists.keptKinds != before.keptKinds || lists.asksForFollows != before.asksForFollows
    }

    /// Removes lists that nothing reads any more.
    func removeUnreadLists(at now: Timestamp) { registrations.removeUnreadLists(at: now) }

    // MARK: What an event is worth

    /// Whether a list or a deletion is worth a signature check. `isKept` says whether an event is kept anywhere that a
    /// deletion may take back, `isAuthorKnown` whether anything of its author's may be.
    mutating func wants(
        _ scanned: ScannedEvent,
        for purpose: Purposes.Purpose,
        in json: UnsafeRawBufferPointer,
        at now: Timestamp,
        isKept: (EventID) -> Bool,
        isAuthorKnown: () -> Bool
    ) -> Bool {
        switch purpose {
        case .list: registrations.wantsLists(of: scanned.pubkey, in: index)
        case .recipientList:
            recipientLists.wants(
                scanned.kind,
                of: scanned.pubkey,
                in: index,
                SlotMark(createdAt: scanned.createdAt, id: scanned.id)
            )
        case .deletion: deletions.isWanted(scanned, in: json, at: now, isKept: isKept, isAuthorKnown: isAuthorKnown)
        default: false
        }
    }

    /// Whether a fetched event is a newer list of an account, of a kind that is read.
    func wants(fetched list: Event) -> Bool {
        recipientLists.wants(list.kind, of: list.pubkey, in: index, SlotMark(list))
    }

    /// Whether an event's author deleted it.
    func isDeleted(_ event: Event) -> Bool { deletions.contains(event) }

    // MARK: Registrations and lists

    /// Whether what came in a row has to be settled before an event of that kind.
    func mustSettle(before kind: Kind, isRecipientList: Bool) -> Bool {
        registrations.mustSettle(before: kind, isRecipientList: isRecipientList)
    }

    /// Whether an account's own list waits to be settled.
    var hasRecipientLists: Bool { registrations.hasRecipientLists }

    /// Adds a registration to the row; or says at once how its way ends.
    mutating func add(registration event: Event, from source: EventSource) -> EventOutcome? {
        registrations.add(
            registration: event,
            isDeleted: deletions.contains(event),
            isListed: source.isListed
        )
    }

    mutating func add(list event: Event) { registrations.add(list: event) }

    mutating func add(recipientList event: Event, isAddressed: Bool) {
        registrations.add(recipientList: event, isAddressed: isAddressed)
    }

    /// Brings the row to the registry; nil: there is none. The index does not know of it yet.
    mutating func settle(at now: Timestamp) -> Registrations.Settlement? { registrations.settle(in: index, at: now) }

    /// Takes a registration that came inside of a request, and says what became of it.
    mutating func register(carried event: Event, from source: EventSource, at now: Timestamp) -> EventOutcome {
        registrations.register(
            carried: event,
            isDeleted: deletions.contains(event),
            isListed: source.isListed,
            at: now
        )
    }

    // MARK: Deletions

    /// A deletion (NIP-09) or a request to vanish (NIP-62); nil where it is neither, or not for us.
    func deletion(_ event: Event) -> Deletion? { deletions.read(event) }

    /// Ends registrations that the deletion takes back, and remembers the events that it names. The index does not know
    /// of it yet.
    mutating func apply(_ deletion: Deletion, by event: Event, at now: Timestamp) -> Deletions.Result {
        deletions.apply(deletion, by: event, at: now)
    }
}
