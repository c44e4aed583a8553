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

extension FixtureScript {
    func reactions() throws -> [Fixture] {
        let tags = [reference(to: note, cast.recipient.publicKey.hex), toRecipient, ["k", "1"]]
        let emoji = tags + [["emoji", "bell", "https://media.example.com/bell.png"]]
        return [
            try fixture("like", "somebody likes a note", 7, "+", tags, of: note),
            try fixture("reaction", "somebody reacts to a note with an emoji", 7, "🔥", tags, of: note),
            try fixture(
                "custom-emoji",
                "somebody reacts with an emoji of their own (NIP-30)",
                7,
                ":bell:",
                emoji,
                of: note
            ),
            try fixture("dislike", "somebody dislikes a note", 7, "-", tags, of: note),
        ]
    }

    func reposts() throws -> [Fixture] {
        let ofArticle = [reference(to: article), toRecipient, ["k", "30023"]]
        return [
            try fixture(
                "repost",
                "somebody reposts a note",
                6,
                note.jsonString,
                [reference(to: note), toRecipient],
                of: note
            ),
            try fixture(
                "generic-repost",
                "somebody reposts an article",
                16,
                article.jsonString,
                ofArticle,
                of: article
            ),
            try fixture(
                "audio-repost",
                "somebody reposts an audio note",
                1809,
                "",
                [reference(to: audioNote), toRecipient],
                of: audioNote
            ),
        ]
    }

    func notes() throws -> [Fixture] {
        let quoted = ["q", note.id.hex, Self.relay, cast.recipient.publicKey.hex]
        let answered = reference(to: note, "root", cast.recipient.publicKey.hex)
        let commented = [
            ["E", article.id.hex, Self.relay, cast.recipient.publicKey.hex], ["K", "30023"],
            ["P", cast.recipient.publicKey.hex], reference(to: article, cast.recipient.publicKey.hex), ["k", "30023"],
            toRecipient,
        ]
        let crowd = (1...30).map { ["p", String(repeating: "0", count: 62) + ($0 < 10 ? "0\($0)" : "\($0)")] }
        return [
            try fixture("reply", "somebody answers a note", 1, "Tea first! 🍵", [answered, toRecipient], of: note),
            try fixture(
                "mention",
                "somebody mentions the recipient",
                1,
                "Have a look at this, Bob: it rings!",
                [toRecipient]
            ),
            try fixture(
                "quote",
                "somebody quotes a note",
                1,
                "This is the way. nostr:\(NIP19.note(note.id))",
                [quoted, toRecipient],
                of: note
            ),
            try fixture(
                "comment",
                "somebody comments on an article",
                1111,
                "I hear them from here.",
                commented,
                of: article
            ),
            try fixture("hellthread", "somebody names 31 people", 1, "Good morning everybody!", crowd + [toRecipient]),
            try fixture(
                "audio-note",
                "somebody sends an audio note",
                1808,
                "https://media.example.com/hello.ogg",
                [toRecipient]
            ),
        ]
    }

    func messages() throws -> [Fixture] {
        let ciphertext = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAc2FtcGxlIGNpcGhlcnRleHQ="
        return [
            try fixture(
                "dm",
                "somebody sends an encrypted message (NIP-04)",
                4,
                "c2FtcGxlIGNpcGhlcnRleHQ=?iv=AAAAAAAAAAAAAAAAAAAAAA==",
                [toRecipient]
            ),
            try fixture("chat", "somebody sends a bare chat message (NIP-17)", 14, "Are you there?", [toRecipient]),
            try fixture(
                "gift-wrap",
                "a gift wrap (NIP-59); nobody knows from whom",
                1059,
                ciphertext,
                [toRecipient],
                by: cast.oneTime,
                isNamed: false
            ),
            try fixture(
                "ephemeral-gift-wrap",
                "the same, of the kind that relays do not keep",
                21059,
                ciphertext,
                [toRecipient],
                by: cast.oneTime,
                isNamed: false
            ),
        ]
    }

    func zaps() throws -> [Fixture] {
        [
            try zap("zap", "somebody zaps a note with 2,100 sats", millisats: 2_100_000, invoice: "lnbc21u1sample"),
            try zap("small-zap", "somebody zaps a note with 10 sats", millisats: 10_000, invoice: "lnbc100n1sample"),
            try zap(
                "large-zap",
                "somebody zaps a note with 210,000 sats",
                millisats: 210_000_000,
                invoice: "lnbc2100u1sample"
            ),
        ]
    }

    func others() throws -> [Fixture] {
        let ciphertext = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAc2FtcGxlIHJlcXVlc3Q="
        return [
            try fixture("follow", "somebody's contact list names the recipient", 3, "", [toRecipient]),
            try fixture(
                "wallet-request",
                "an app asks the wallet for something (NIP-47)",
                23194,
                ciphertext,
                [toRecipient, ["encryption", "nip44_v2"]],
                by: cast.oneTime,
                isNamed: false
            ),
            try fixture(
                "signer-request",
                "an app asks the signer for something (NIP-46)",
                24133,
                ciphertext,
                [toRecipient],
                by: cast.oneTime,
                isNamed: false
            ),
            try fixture(
                "batch",
                "seven such mentions go out as one",
                1,
                "Have a look at this, Bob: it rings!",
                [toRecipient],
                count: 7
            ),
        ]
    }

    /// A receipt (NIP-57) around the request that the author signed.
    private func zap(_ name: String, _ about: String, millisats: UInt64, invoice: String) throws -> Fixture {
        let request = try Self.event(
            Kind.zapRequest.rawValue,
            "For the coffee!",
            [toRecipient, reference(to: note), ["amount", String(millisats)], ["relays", Self.relay]],
            at: -10,
            by: cast.author
        )
        return try fixture(
            name,
            about,
            Kind.zapReceipt.rawValue,
            "",
            [
                toRecipient, ["P", cast.author.publicKey.hex], reference(to: note), ["bolt11", invoice],
                ["description", request.jsonString],
            ],
            of: note,
            by: cast.wallet
        )
    }
}
