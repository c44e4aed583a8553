import Core
import Logging
import Nostr
import Push
import Registry
import Rules

/// What notifications to registered devices may need besides their events.
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

/// A cache of profiles and notes, so that a notification can name its author and show the note it refers to. Bounded,
/// and fed with verified events only.
///
/// Holds the most recent in memory, over a ``ContextStore`` if it has one. Keeps what ``follow(_:)`` says that devices
/// may be shown. Keeps the authors of notes in memory alone: they tell a reply from a mention.
struct EventContext {
    /// Older profiles go on being used, but are worth looking for again.
    static let profileAge: Duration = .days(7)
    /// How many addresses and lists are remembered, at least.
    private static let listCapacity = 20_000
    /// Nothing is sought again within this time that was not found.
    private static let patience: Duration = .minutes(10)
    /// How many things relays are asked for because one event mentions them, at most.
    private static let wantsLimit = 12

    private var profiles: ContextTable<PublicKey, ContextProfile>
    private var notes: ContextTable<EventID, ContextNote>
    /// The newest versions that were seen of addressable events.
    private var addressed = BoundedCache<EventAddress, (id: EventID, createdAt: Int64)>(capacity: 2 * listCapacity)
    /// When relays were asked for what.
    private var askedAt: BoundedCache<ContextWant, Timestamp>
    private let store: ContextStore?
    private let capacities: (profiles: Int, notes: Int)
    /// Whether nothing is looked for.
    private let isOff: Bool
    /// What notifications may refer to.
    private var demand = RuleNeeds.everything

    /// `profiles` and `notes` are how many stay in memory at least. With `isOff` nothing is missing ever.
    init(store: ContextStore? = nil, isOff: Bool = false, profiles: Int = 20_000, notes: Int = 20_000) {
        self.store = store
        self.isOff = isOff
        self.capacities = (profiles, notes)
        self.profiles = ContextTable(capacity: profiles)
        self.notes = ContextTable(capacity: notes)
        askedAt = BoundedCache(capacity: 2 * (profiles + notes + 3 * Self.listCapacity))
    }

    /// As the settings say. Where nothing is kept any more, the file of an earlier router goes.
    init(_ settings: PipelineSettings, logger: Logger) throws {
        var store: ContextStore?
        if let path = settings.contextPath {
            // If nothing is kept, it does not matter whether the file is another program's.
            store =
                settings.usesContext
                ? try ContextStore(path: path, logger: logger) : try? ContextStore(path: path, logger: logger)
        }
        self.init(store: store, isOff: !settings.usesContext)
    }

    /// Keeps what notifications may refer to from now on. When that is less than before, everything that was kept goes,
    /// from the disk too.
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

    /// Whether ``learn(_:at:)`` makes anything of such an event.
    func isWorthLearning(_ kind: Kind) -> Bool {
        switch kind {
        case .profile: demand.readsProfiles
        case .textNote, .audioNote, .comment, .longFormContent, .encryptedDirectMessage: true
        default: false
        }
    }

    /// Remembers what later notifications may need of an event that came by, which must be verified.
    mutating func learn(_ event: Event, at now: Timestamp) {
        if isWorthLearning(event.kind) {
            learn(fetched: event, at: now)
        } else if let reposted = event.repostedID, note(reposted) == nil, let note = event.reposted {
            learn(fetched: note, at: now)
        }
    }

    /// Remembers an event that was asked for, of whatever kind; it must be verified.
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

    /// What a notification about an event would lack that is worth looking for: `needs` are those of the rule, for the
    /// modes of the devices that want it, and `references` the people and events that it mentions. The event that an
    /// open question is about is among it.
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

    /// Whether an author's profile is not known or old, and was not sought in the last ten minutes.
    mutating func isWorthSeeking(profileOf author: PublicKey, at now: Timestamp) -> Bool {
        let isFresh = profile(of: author).map { now - $0.learnedAt < Self.profileAge } ?? false
        return !isFresh && isWorthSeeking(.profile(author), at: now)
    }

    /// What a zap's comment and the event referred to mention, as far as they are known.
    private mutating func mentions(of relevance: Relevance) -> [NostrReference] {
        let texts = [relevance.zap?.comment, relevance.referencedID.flatMap { note($0)?.content }]
        return texts.compactMap(\.self).flatMap { text in
            NostrReference.all(in: text, limit: EventFacts.referenceLimit).map(\.reference)
        }
    }

    /// Names of people and texts of events that an event and what it refers to mention, as far as they are known.
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

    /// Whether relays were not asked for that in the last ten minutes. To be asked about what is not known.
    mutating func isWorthSeeking(_ want: ContextWant, at now: Timestamp) -> Bool {
        guard let last = askedAt.value(of: want) else { return true }
        return now - last >= Self.patience
    }

    /// Remembers that `wants` were sought everywhere; what was not found is not missing again for ten minutes.
    mutating func noteAsked(_ wants: ContextWants, at now: Timestamp) {
        for want in wants.all { askedAt.set(now, for: want) }
    }

    /// Every list is worth seeking again.
    mutating func forgetAskedLists() {
        askedAt.remove { want, _ in
            switch want {
            case .contactList, .list: true
            default: false
            }
        }
    }

    /// Whether a profile of that author is kept.
    mutating func knows(profileOf author: PublicKey) -> Bool { profile(of: author) != nil }

    /// Forgets what a deletion names of its author's.
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

    /// Forgets everything that is kept of an author, who asked for that at `moment`, in seconds since 1970.
    mutating func forget(everythingBy author: PublicKey, until moment: Int64) {
        let isProfileForgotten = profile(of: author)?.createdAt ?? .max <= moment
        if isProfileForgotten { profiles.forget(author) }
        notes.forget { $0.author == author }
        store?.forget(notes: [], profiles: isProfileForgotten ? [author] : [], notesBy: [author])
    }

    /// Has what was learned since the last time written to the store, without waiting for it. For the end of each
    /// batch.
    mutating func keep(at now: Timestamp) {
        let (newProfiles, newNotes) = (profiles.takeUnwritten(), notes.takeUnwritten())
        guard let store, !newProfiles.isEmpty || !newNotes.isEmpty else { return }
        store.write(profiles: newProfiles, notes: newNotes, at: now)
    }

    /// Writes what is not written yet, and waits for it. Once, when the last event is done with.
    mutating func close(at now: Timestamp) {
        keep(at: now)
        store?.close()
    }

    /// The name that a notification shows.
    mutating func name(of relevance: Relevance) -> String {
        relevance.zap?.isAnonymous == true ? AuthorName.anonymous : name(of: relevance.author)
    }

    /// The author's name, or the beginning of the key.
    mutating func name(of author: PublicKey) -> String {
        profile(of: author)?.name ?? AuthorName.standIn(for: author)
    }

    /// The event of that id, with its kind, content and author if it is known, and the author's name if it is needed.
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

    /// The signer of the event of that id, and the key that the signer claims to speak for; nil if it is not known.
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
