import Core
import Logging
import Nostr
import Push
import Registry
import Rules

/// The context that notifications to registered devices may need.
struct ContextDemand {
    private let isOn: Bool
    private let defaultMode: Mode
    private let needs: [Mode: RuleNeeds]

    init(_ settings: PipelineSettings) {
        isOn = settings.usesContext
        defaultMode = settings.defaultMode
        needs = Mode.allCases.reduce(into: [:]) { $0[$1] = settings.rules.needs(in: $1) }
    }

    func needs(of index: borrowing MatchIndex) -> RuleNeeds {
        guard isOn else { return [] }
        var union = index.hasDevices(in: nil) ? needs[defaultMode] ?? [] : []
        for (mode, needs) in needs where index.hasDevices(in: mode) { union.formUnion(needs) }
        return union
    }
}

/// A cache of profiles and notes, so that a notification can name its author and show the note it refers to. It is
/// bounded, and holds only verified events.
///
/// The most recent entries are in memory, the rest in an optional ``ContextStore``. It keeps the context that
/// ``follow(_:)`` demands. Authors of notes are kept only in memory; they distinguish a reply from a mention.
struct EventContext {
    /// Older profiles are still used, but are fetched again.
    static let profileAge: Duration = .days(7)
    /// The minimum number of addresses and lists to remember.
    private static let listCapacity = 20_000
    /// The time before a failed search is repeated.
    private static let timeout: Duration = .minutes(10)
    /// The maximum number of profiles and events to fetch for the mentions of one event.
    private static let wantsLimit = 12

    private var profiles: ContextTable<PublicKey, ContextProfile>
    private var notes: ContextTable<EventID, ContextNote>
    /// The newest known versions of addressable events.
    private var addressed = BoundedCache<EventAddress, (id: EventID, createdAt: Int64)>(capacity: 2 * listCapacity)
    /// When relays were last asked for each piece of context.
    private var askedAt: BoundedCache<ContextWant, Timestamp>
    private let store: ContextStore?
    private let capacities: (profiles: Int, notes: Int)
    /// Whether fetching context is disabled.
    private let isOff: Bool
    /// The context that notifications may refer to.
    private var demand = RuleNeeds.everything

    /// `profiles` and `notes` are the minimum numbers to hold in memory. `isOff` disables fetching context.
    init(store: ContextStore? = nil, isOff: Bool = false, profiles: Int = 20_000, notes: Int = 20_000) {
        self.store = store
        self.isOff = isOff
        self.capacities = (profiles, notes)
        self.profiles = ContextTable(capacity: profiles)
        self.notes = ContextTable(capacity: notes)
        askedAt = BoundedCache(capacity: 2 * (profiles + notes + 3 * Self.listCapacity))
    }

    /// Applies the settings. If they disable context, the file of earlier runs will be erased.
    init(_ settings: PipelineSettings, logger: Logger) throws {
        var store: ContextStore?
        if let path = settings.contextPath {
            // If context is disabled, a foreign file at this path is no error.
            store =
                settings.usesContext
                ? try ContextStore(path: path, logger: logger) : try? ContextStore(path: path, logger: logger)
        }
        self.init(store: store, isOff: !settings.usesContext)
    }

    /// Switches to another demand. If it is less than before, all stored context is removed, even from disk.
    mutating func follow(_ demand: RuleNeeds) {
        let isLess =
            self.demand.readsProfiles && !demand.readsProfiles || self.demand.readsNotes && !demand.readsNotes
        self.demand = demand
        guard isLess else { return }
        profiles = ContextTable(capacity: capacities.profiles)
        notes = ContextTable(capacity: capacities.notes)
        askedAt.remove { want, _ in
            switch want {
            case .profile, .event: true
            default: false
            }
        }
        store?.erase()
    }

    /// Whether ``learn(_:at:)`` stores something from events of that kind.
    func isWorthLearning(_ kind: Kind) -> Bool {
        switch kind {
        case .profile: demand.readsProfiles
        case .textNote, .audioNote, .comment, .longFormContent, .encryptedDirectMessage: true
        default: false
        }
    }

    /// Stores context from a received event, which must be verified.
    mutating func learn(_ event: Event, at now: Timestamp) {
        if isWorthLearning(event.kind) {
            learn(fetched: event, at: now)
        } else if let reposted = event.repostedID, note(reposted) == nil, let note = event.reposted {
            learn(fetched: note, at: now)
        }
    }

    /// Stores a fetched event of any kind, which must be verified.
    mutating func learn(fetched event: Event, at now: Timestamp) {
        guard event.kind == .profile else {
            if event.kind.retention == .addressable { learn(address: event.address, of: event) }
            let note = ContextNote(event, withContent: demand.readsNotes)
            return notes.learn(note, for: event.id, isKept: demand.readsNotes)
        }
        guard demand.readsProfiles else { return }
        if var known = profile(of: event.pubkey), known.createdAt >= event.createdAt {
            known.learnedAt = now
            return profiles.learn(known, for: event.pubkey)
        }
        profiles.learn(
            ContextProfile(
                name: AuthorName.of(profile: event.content),
                createdAt: event.createdAt,
                learnedAt: now
            ),
            for: event.pubkey
        )
    }

    private mutating func learn(address: EventAddress, of event: Event) {
        if let known = addressed.value(of: address), known.createdAt >= event.createdAt { return }
        addressed.set((event.id, event.createdAt), for: address)
    }

    /// The missing context of a notification that should be fetched. `needs` are those of the rule in the modes of the
    /// target devices. `references` are the people and events that the event mentions. The result includes the event
    /// that an open question is about.
    mutating func missing(
        _ needs: RuleNeeds,
        of relevance: Relevance,
        mentioning references: @autoclosure () -> [NostrReference] = [],
        at now: Timestamp
    ) -> ContextWants {
        var wants = ContextWants()
        guard !isOff else { return wants }
        if needs.contains(.authorName), relevance.zap?.isAnonymous != true {
            if isWorthSeeking(profileOf: relevance.author, at: now) { wants.profiles.insert(relevance.author) }
        }
        if needs.contains(.referencedEvent), let id = relevance.referencedID, note(id)?.content == nil,
            isWorthSeeking(.event(id), at: now)
        {
            wants.events.insert(id)
        }
        if let id = relevance.openQuestion, note(id) == nil, isWorthSeeking(.event(id), at: now) {
            wants.events.insert(id)
        }
        if needs.contains(.referencedAuthorName), let id = relevance.referencedID {
            if wants.events.contains(id) {
                wants.authorsOf.insert(id)
            } else if let author = note(id)?.author, isWorthSeeking(profileOf: author, at: now) {
                wants.profiles.insert(author)
            }
        }
        if needs.contains(.mentions) {
            for reference in references() + mentions(of: relevance)
            where wants.profiles.count + wants.events.count + wants.addresses.count < Self.wantsLimit {
                want(reference, among: &wants, at: now)
            }
        }
        return wants
    }

    private mutating func want(_ reference: NostrReference, among wants: inout ContextWants, at now: Timestamp) {
        switch reference {
        case .profile(let key):
            if isWorthSeeking(profileOf: key, at: now) { wants.profiles.insert(key) }
        case .event(let id):
            if note(id) == nil, isWorthSeeking(.event(id), at: now) { wants.events.insert(id) }
        case .address(let address):
            if isWorthSeeking(.address(address), at: now), text(at: address) == nil { wants.addresses.insert(address) }
        }
    }

    /// Whether an author's profile is unknown or old, and was not requested in the last ten minutes.
    mutating func isWorthSeeking(profileOf author: PublicKey, at now: Timestamp) -> Bool {
        let isFresh = profile(of: author).map { now - $0.learnedAt < Self.profileAge } ?? false
        return !isFresh && isWorthSeeking(.profile(author), at: now)
    }

    /// The references in a zap's comment and in the referenced event, if these are known.
    private mutating func mentions(of relevance: Relevance) -> [NostrReference] {
        let texts = [relevance.zap?.comment, relevance.referencedID.flatMap { note($0)?.content }]
        return texts.compactMap(\.self).flatMap { text in
            NostrReference.all(in: text, limit: EventFacts.referenceLimit).map(\.reference)
        }
    }

    /// The known names and texts of people and events that an event and its referenced event mention.
    mutating func mentioned(by references: [NostrReference], _ relevance: Relevance) -> [NostrReference: String] {
        var known: [NostrReference: String] = [:]
        for reference in references + mentions(of: relevance) where known[reference] == nil {
            switch reference {
            case .profile(let key): known[reference] = profile(of: key)?.name
            case .event(let id): known[reference] = note(id)?.content
            case .address(let address): known[reference] = text(at: address)
            }
        }
        return known
    }

    private mutating func text(at address: EventAddress) -> String? {
        addressed.value(of: address).flatMap { note($0.id)?.content }
    }

    /// Whether this missing context was not requested in the last ten minutes.
    mutating func isWorthSeeking(_ want: ContextWant, at now: Timestamp) -> Bool {
        guard let last = askedAt.value(of: want) else { return true }
        return now - last >= Self.timeout
    }

    /// Records that relays were asked for `wants`. Those not found are not requested again for ten minutes.
    mutating func noteAsked(_ wants: ContextWants, at now: Timestamp) {
        for want in wants.all { askedAt.set(now, for: want) }
    }

    /// Allows requesting every list again.
    mutating func forgetAskedLists() {
        askedAt.remove { want, _ in
            switch want {
            case .contactList, .list: true
            default: false
            }
        }
    }

    /// Whether a profile of that author is stored.
    mutating func knows(profileOf author: PublicKey) -> Bool { profile(of: author) != nil }

    /// Forgets the author's events that a deletion names.
    mutating func forget(_ deletion: Deletion) {
        guard case .events(let ids, let addresses) = deletion.scope else {
            return forget(everythingBy: deletion.author, until: deletion.createdAt)
        }
        let own = ids.filter { note($0)?.author == deletion.author }
        for id in own { notes.forget(id) }
        let profile = EventAddress(kind: .profile, pubkey: deletion.author, identifier: "")
        let isProfileDeleted =
            addresses.contains(profile) && self.profile(of: deletion.author)?.createdAt ?? .max <= deletion.createdAt
        if isProfileDeleted { profiles.forget(deletion.author) }
        guard !own.isEmpty || isProfileDeleted else { return }
        store?.forget(notes: own, profiles: isProfileDeleted ? [deletion.author] : [])
    }

    /// Forgets everything by an author who requested that at `moment`, in seconds since 1970.
    mutating func forget(everythingBy author: PublicKey, until moment: Int64) {
        let isProfileForgotten = profile(of: author)?.createdAt ?? .max <= moment
        if isProfileForgotten { profiles.forget(author) }
        notes.forget { $0.author == author }
        store?.forget(notes: [], profiles: isProfileForgotten ? [author] : [], notesBy: [author])
    }

    /// Passes new entries to the store, without waiting for the write. Called at the end of each batch.
    mutating func keep(at now: Timestamp) {
        let (newProfiles, newNotes) = (profiles.takeUnwritten(), notes.takeUnwritten())
        guard let store, !newProfiles.isEmpty || !newNotes.isEmpty else { return }
        store.write(profiles: newProfiles, notes: newNotes, at: now)
    }

    /// Writes new entries and waits for that. Called once, after the last event.
    mutating func close(at now: Timestamp) {
        keep(at: now)
        store?.close()
    }

    /// The name that a notification shows.
    mutating func name(of relevance: Relevance) -> String {
        relevance.zap?.isAnonymous == true ? AuthorName.anonymous : name(of: relevance.author)
    }

    /// The author's name, or the first digits of the key.
    mutating func name(of author: PublicKey) -> String {
        profile(of: author)?.name ?? AuthorName.standIn(for: author)
    }

    /// Returns the event of that id with its kind, content and author if known, and the author's name if requested.
    mutating func referenced(_ id: EventID, isAuthorNamed: Bool = false) -> ReferencedEvent {
        let note = note(id)
        return ReferencedEvent(
            id: id,
            kind: note?.kind,
            content: note?.content,
            author: note?.author,
            authorName: isAuthorNamed ? note.map { name(of: $0.author) } : nil
        )
    }

    /// Returns the signer of an event, and the key that the signer claims to speak for. Nil if the event is unknown.
    mutating func authors(of id: EventID) -> [PublicKey]? {
        note(id).map { [$0.author] + ($0.root.map { [$0] } ?? []) }
    }

    private mutating func profile(of author: PublicKey) -> ContextProfile? {
        profiles.value(for: author) { [store, demand] in demand.readsProfiles ? store?.profile(of: $0) : nil }
    }

    private mutating func note(_ id: EventID) -> ContextNote? {
        notes.value(for: id) { [store, demand] in demand.readsNotes ? store?.note($0) : nil }
    }
}
