import Nostr

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
