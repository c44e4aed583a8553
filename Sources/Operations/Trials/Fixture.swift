import JSON
import Nostr
import Rules

/// A sample event for trying rules, with everything that a rule's templates can use.
package struct Fixture: Sendable {
    /// The name on the command line.
    package let name: String
    /// A short description.
    package let about: String
    /// The event, signed by a publicly known key.
    package let event: Event
    /// The number of such events in one notification; more than one is a batch.
    package let count: UInt32
    package let recipient: PublicKey
    /// The name in the profile of the event's author; `nil` if the author is hidden.
    package let authorName: String?
    /// The recipient's note that the event refers to.
    package let referenced: ReferencedEvent?
}

extension Fixture {
    /// Returns all fixtures, always the same: one for each kind that Carillon supports, and some for common rules.
    ///
    /// Throws only if libsecp256k1 fails.
    package static func all() throws -> [Fixture] {
        try FixtureScript().fixtures()
    }

    /// The event as indented JSON: a start for your own event.
    package var json: String {
        (try? JSONValue(parsing: event.jsonString, duplicates: .lastCounts).prettyPrinted) ?? event.jsonString
    }
}

/// The key pairs in fixtures. The secret keys are published, so that you can sign an event again after a change. Never
/// use them for anything else.
struct FixtureCast {
    static let authorName = "Alice"

    /// The author of most events.
    let author: KeyPair
    /// The recipient of the notifications.
    let recipient: KeyPair
    /// Signs zap receipts.
    let wallet: KeyPair
    /// Signs a gift wrap (NIP-59), or acts as an app (NIP-46, NIP-47).
    let oneTime: KeyPair

    init() throws {
        author = try Self.keys(1)
        recipient = try Self.keys(2)
        wallet = try Self.keys(3)
        oneTime = try Self.keys(4)
    }

    private static func keys(_ number: UInt8) throws -> KeyPair {
        try KeyPair(secret: SecretKey(bytes: [UInt8](repeating: 0, count: SecretKey.byteCount - 1) + [number]))
    }
}

/// Builds the fixtures' events. They contain no random values and no current time, so they are the same everywhere.
struct FixtureScript {
    static let time: Int64 = 1_780_000_000
    static let relay = "wss://relay.example.com"

    let cast: FixtureCast
    /// The recipient's earlier note.
    let note: Event
    let audioNote: Event
    let article: Event

    init() throws {
        cast = try FixtureCast()
        let sound = "https://media.example.com/morning.ogg"
        let (bells, tags) = ("# Bells\n\nWhy towers have them.", [["d", "bells"], ["title", "Bells"]])
        note = try Self.event(1, "Good morning! Coffee first, then code. ☕", at: -300, by: cast.recipient)
        audioNote = try Self.event(
            1808,
            sound,
            [["imeta", "url \(sound)", "m audio/ogg"]],
            at: -300,
            by: cast.recipient
        )
        article = try Self.event(30023, bells, tags, at: -300, by: cast.recipient)
    }

    func fixtures() throws -> [Fixture] {
        try reactions() + reposts() + notes() + messages() + zaps() + others()
    }

    /// `of` is the recipient's event that the fixture refers to. An event by the one-time key has no author name.
    func fixture(
        _ name: String,
        _ about: String,
        _ event: Event,
        of referenced: Event? = nil,
        count: UInt32 = 1
    ) -> Fixture {
        Fixture(
            name: name,
            about: about,
            event: event,
            count: count,
            recipient: cast.recipient.publicKey,
            authorName: event.pubkey == cast.oneTime.publicKey ? nil : FixtureCast.authorName,
            referenced: referenced.map { ReferencedEvent(id: $0.id, kind: $0.kind, content: $0.content) }
        )
    }

    /// Makes an event. Default signer: the author.
    func event(_ kind: UInt16, _ content: String, _ tags: [[String]], by signer: KeyPair? = nil) throws -> Event {
        try Self.event(kind, content, tags, by: signer ?? cast.author)
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

    /// The tag that names the recipient.
    var toRecipient: [String] { ["p", cast.recipient.publicKey.hex] }

    func reference(to event: Event, _ further: String...) -> [String] {
        ["e", event.id.hex, Self.relay] + further
    }
}

extension FixtureScript {
    func reactions() throws -> [Fixture] {
        let tags = [reference(to: note, cast.recipient.publicKey.hex), toRecipient, ["k", "1"]]
        let bell = try event(7, ":bell:", tags + [["emoji", "bell", "https://media.example.com/bell.png"]])
        return [
            fixture("like", "a user likes a note", try event(7, "+", tags), of: note),
            fixture("reaction", "a user reacts to a note with an emoji", try event(7, "🔥", tags), of: note),
            fixture("custom-emoji", "a user reacts with a custom emoji (NIP-30)", bell, of: note),
            fixture("dislike", "a user dislikes a note", try event(7, "-", tags), of: note),
        ]
    }

    func reposts() throws -> [Fixture] {
        let ofNote = try event(6, note.jsonString, [reference(to: note), toRecipient])
        let ofArticle = try event(16, article.jsonString, [reference(to: article), toRecipient, ["k", "30023"]])
        let ofAudio = try event(1809, "", [reference(to: audioNote), toRecipient])
        return [
            fixture("repost", "a user reposts a note", ofNote, of: note),
            fixture("generic-repost", "a user reposts an article", ofArticle, of: article),
            fixture("audio-repost", "a user reposts an audio note", ofAudio, of: audioNote),
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
        let mention = try event(1, "Have a look at this, Bob: it rings!", [toRecipient])
        let quote = try event(1, "This is the way. nostr:\(NIP19.note(note.id))", [quoted, toRecipient])
        let comment = try event(1111, "I hear them from here.", commented)
        let greeting = try event(1, "Good morning everyone!", crowd + [toRecipient])
        let audio = try event(1808, "https://media.example.com/hello.ogg", [toRecipient])
        return [
            fixture(
                "reply",
                "a user replies to a note",
                try event(1, "Tea first! 🍵", [answered, toRecipient]),
                of: note
            ),
            fixture("mention", "a user mentions the recipient", mention),
            fixture("quote", "a user quotes a note", quote, of: note),
            fixture("comment", "a user comments on an article", comment, of: article),
            fixture("hellthread", "a user names 31 people", greeting),
            fixture("audio-note", "a user sends an audio note", audio),
        ]
    }

    func messages() throws -> [Fixture] {
        let ciphertext = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAc2FtcGxlIGNpcGhlcnRleHQ="
        let message = try event(4, "c2FtcGxlIGNpcGhlcnRleHQ=?iv=AAAAAAAAAAAAAAAAAAAAAA==", [toRecipient])
        let wrap = try event(1059, ciphertext, [toRecipient], by: cast.oneTime)
        let ephemeral = try event(21059, ciphertext, [toRecipient], by: cast.oneTime)
        return [
            fixture("dm", "a user sends an encrypted message (NIP-04)", message),
            fixture(
                "chat",
                "a user sends a bare chat message (NIP-17)",
                try event(14, "Are you there?", [toRecipient])
            ),
            fixture("gift-wrap", "a gift wrap (NIP-59), which hides its sender", wrap),
            fixture("ephemeral-gift-wrap", "the same, of the kind that relays do not keep", ephemeral),
        ]
    }

    func zaps() throws -> [Fixture] {
        [
            try zap("zap", "a user zaps a note with 2,100 sats", millisats: 2_100_000, invoice: "lnbc21u1sample"),
            try zap("small-zap", "a user zaps a note with 10 sats", millisats: 10_000, invoice: "lnbc100n1sample"),
            try zap(
                "large-zap",
                "a user zaps a note with 210,000 sats",
                millisats: 210_000_000,
                invoice: "lnbc2100u1sample"
            ),
        ]
    }

    func others() throws -> [Fixture] {
        let ciphertext = "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAc2FtcGxlIHJlcXVlc3Q="
        let encrypted = [toRecipient, ["encryption", "nip44_v2"]]
        let payment = try event(23194, ciphertext, encrypted, by: cast.oneTime)
        let signing = try event(24133, ciphertext, [toRecipient], by: cast.oneTime)
        let mention = try event(1, "Have a look at this, Bob: it rings!", [toRecipient])
        return [
            fixture("follow", "a user's contact list names the recipient", try event(3, "", [toRecipient])),
            fixture("wallet-request", "an app asks the wallet for something (NIP-47)", payment),
            fixture("signer-request", "an app asks the signer for something (NIP-46)", signing),
            fixture("batch", "seven such mentions are sent as one", mention, count: 7),
        ]
    }

    /// Makes a zap receipt (NIP-57) with a request signed by the author.
    private func zap(_ name: String, _ about: String, millisats: UInt64, invoice: String) throws -> Fixture {
        let request = try Self.event(
            Kind.zapRequest.rawValue,
            "For the coffee!",
            [toRecipient, reference(to: note), ["amount", String(millisats)], ["relays", Self.relay]],
            at: -10,
            by: cast.author
        )
        let tags = [
            toRecipient, ["P", cast.author.publicKey.hex], reference(to: note), ["bolt11", invoice],
            ["description", request.jsonString],
        ]
        return fixture(name, about, try event(Kind.zapReceipt.rawValue, "", tags, by: cast.wallet), of: note)
    }
}
