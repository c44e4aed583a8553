import Foundation
import Nostr
import RandomTestSupport
import Rules

/// Events of malicious authors: every string breaks formats, or is far too long.
struct HostileEvents {
    private static let pieces = [
        "\"", "\\", "\u{0}", "\r\n", "\nX-Injected: 1\r\n", "</script>", "{{author.name}}", "{\"aps\":{}}",
        "\",\"aps\":{\"badge\":9",
        "\u{202E}", "\u{2066}", "\u{200B}\u{200B}\u{200B}", "\u{FEFF}", "\u{2028}", "\u{85}", "\u{7F}", "\u{1B}[31m",
        "👩‍👩‍👧‍👦",
        "e\u{301}\u{302}\u{303}\u{304}\u{305}", "🇩🇪", "ﷺ", "a", " ", "ä", "漢", "%0d%0a", "${APNS_KEY_ID}", "&amp;",
        "'; DROP TABLE",
        "nostr:npub1", " nostr:npub180cvv07tjdrrgpa0j7j7tmnyl2yr6yr7l8j4s3evf6u64th6gkwsyjh6w6 ", "javascript:alert(1)",
        "\u{E0041}", "\u{FFFF}", "=?utf-8?q?=0D?=", ";", ",", "=", "#", "`",
    ]
    private static let kinds: [UInt16] = [
        1, 3, 4, 6, 7, 14, 16, 1059, 1111, 1808, 1809, 9735, 21059, 23194, 24133, 30023,
    ]

    let recipient: PublicKey
    private var random: SeededGenerator

    init(seed: UInt64, recipient: PublicKey) {
        self.recipient = recipient
        random = SeededGenerator(seed: seed)
    }

    mutating func next() throws -> Event {
        let kind = Self.kinds.randomElement(using: &random) ?? 1
        var tags = [["p", recipient.hex], ["e", hex(), text(3), "root"]]
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            tags.append([["t", "subject", "e", "q", "k", text(1)].randomElement(using: &random) ?? "t", text(8)])
        }
        let object: [String: Any] = [
            "id": hex(), "pubkey": hex(), "sig": hex() + hex(),
            "created_at": Int.random(in: 0...4_000_000_000, using: &random),
            "kind": Int(kind), "tags": tags, "content": text(longText() ? 4000 : 12),
        ]
        return try Event(json: Array(try JSONSerialization.data(withJSONObject: object)))
    }

    /// Returns a name as a profile may have it.
    mutating func name() -> String { text(longText() ? 3000 : 6) }

    /// Returns the note that an event refers to.
    mutating func note() throws -> ReferencedEvent? {
        guard Bool.random(using: &random), let id = EventID(hex: hex()) else { return nil }
        return ReferencedEvent(id: id, kind: Kind(rawValue: 1), content: text(longText() ? 4000 : 12))
    }

    private mutating func longText() -> Bool { Int.random(in: 0..<8, using: &random) == 0 }

    private mutating func hex() -> String {
        (0..<32).map { _ in String(format: "%02x", UInt8.random(in: 0...255, using: &random)) }.joined()
    }

    private mutating func text(_ limit: Int) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...limit, using: &random) {
            text += Self.pieces.randomElement(using: &random) ?? ""
        }
        return text
    }
}
