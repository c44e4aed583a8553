import Nostr
import Rules

/// Writes the fixtures' events. Nothing in them is drawn or taken from a clock: they are the same everywhere.
struct FixtureScript {
    static let time: Int64 = 1_780_000_000
    static let relay = "wss://relay.example.com"

    let cast: FixtureCast
    /// What the recipient wrote before.
    let note: Event
    let audioNote: Event
    let article: Event

    init() throws {
        cast = try FixtureCast()
        note = try Self.event(1, "Good morning! Coffee first, then code. ☕", at: -300, by: cast.recipient)
        audioNote = try Self.event(
            1808,
            "https://media.example.com/morning.ogg",
            [["imeta", "url https://media.example.com/morning.ogg", "m audio/ogg"]],
            at: -300,
            by: cast.recipient
        )
        article = try Self.event(
            30023,
            "# Bells\n\nWhy towers have them.",
            [["d", "bells"], ["title", "Bells"]],
            at: -300,
            by: cast.recipient
        )
    }

    func fixtures() throws -> [Fixture] {
        try reactions() + reposts() + notes() + messages() + zaps() + others()
    }

    /// What `content` and `tags` make, by the author unless told; `of` is the recipient's event that it is about.
    func fixture(
        _ name: String,
        _ about: String,
        _ kind: UInt16,
        _ content: String = "",
        _ tags: [[String]],
        of referenced: Event? = nil,
        by signer: KeyPair? = nil,
        isNamed: Bool = true,
        count: UInt32 = 1
    ) throws -> Fixture {
        Fixture(
            name: name,
            about: about,
            event: try Self.event(kind, content, tags, by: signer ?? cast.author),
            count: count,
            recipient: cast.recipient.publicKey,
            authorName: isNamed ? FixtureCast.authorName : nil,
            referenced: referenced.map { ReferencedEvent(id: $0.id, kind: $0.kind, content: $0.content) }
        )
    }

    static func event(
        _ kind: UInt16,
        _ content: String,
        _ tags: [[String]] = [],
        at seconds: Int64 = 0,
        by keys: KeyPair
    ) throws -> Event {
        try Event.signed(
            kind: Kind(kind),
            createdAt: time + seconds,
            tags: tags,
            content: content,
            by: keys,
            random: { [UInt8](repeating: 0, count: $0) }
        )
    }

    /// Names the recipient.
    var toRecipient: [String] { ["p", cast.recipient.publicKey.hex] }

    func reference(to event: Event, _ further: String...) -> [String] {
        ["e", event.id.hex, Self.relay] + further
    }
}
