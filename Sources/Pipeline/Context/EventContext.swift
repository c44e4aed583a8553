import Nostr
import Rules

/// What was seen of profiles and notes, so that a notification can name its author and the note it refers to. Bounded,
/// and fed with verified events only.
struct EventContext {
    private struct Profile {
        let name: String?
        let createdAt: Int64
    }

    private struct Note {
        let kind: Kind
        let content: String
    }

    /// Only so much of a note is ever shown.
    private static let contentLimit = 400
    private static let byteLimit = 3200
    private var profiles: GenerationalCache<PublicKey, Profile>
    private var notes: GenerationalCache<EventID, Note>

    init(profiles: Int = 50_000, notes: Int = 50_000) {
        self.profiles = GenerationalCache(capacity: profiles)
        self.notes = GenerationalCache(capacity: notes)
    }

    /// Whether ``learn(_:)`` makes anything of such an event.
    static func isWorthLearning(_ kind: Kind) -> Bool {
        kind == .profile || kind == .textNote || kind == .audioNote || kind == .comment
    }

    /// Remembers what later notifications may need of `event`, which must be verified.
    mutating func learn(_ event: Event) {
        guard Self.isWorthLearning(event.kind) else { return }
        guard event.kind == .profile else {
            let beginning = event.content.beginning(Self.contentLimit, bytes: Self.byteLimit)
            notes.insert(Note(kind: event.kind, content: String(beginning)), for: event.id)
            return
        }
        if let known = profiles.value(for: event.pubkey), known.createdAt >= event.createdAt { return }
        profiles.insert(
            Profile(name: AuthorName.of(profile: event.content), createdAt: event.createdAt),
            for: event.pubkey
        )
    }

    /// The author's name, or the beginning of the key.
    mutating func name(of author: PublicKey) -> String {
        profiles.value(for: author)?.name ?? AuthorName.standIn(for: author.hex)
    }

    /// The event of that id, with its kind and content if it was seen.
    mutating func referenced(_ id: EventID) -> ReferencedEvent {
        let note = notes.value(for: id)
        return ReferencedEvent(id: id, kind: note?.kind, content: note?.content)
    }
}
