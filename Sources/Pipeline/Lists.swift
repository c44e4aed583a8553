import Nostr
import Notifications
import Registry
import Rules

/// Accounts' own lists: the contact list (NIP-02), only where rules or filters ask who is followed, and lists that
/// filters read.
struct RecipientLists {
    private let registry: Registry
    /// Whether rules or filters read contact lists.
    private(set) var asksForFollows: Bool
    /// The kinds that are kept whole.
    private(set) var keptKinds: Set<Kind>

    init(_ settings: PipelineSettings, _ filters: EventFilters, registry: Registry) {
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
