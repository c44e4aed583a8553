import Cipher
import Nostr

/// The custom keys that tell an app about the event (seed 000, "Always Present (custom data)" and after).
struct EventData {
    private let input: RuleInput

    /// The names of its keys.
    static let keys: Set = [
        "event_id", "author_pubkey", "kind", "created_at", "referenced_event_id", "referenced_event_kind",
        "referenced_event_content",
    ]

    init(_ input: RuleInput) {
        self.input = input
    }

    /// A JSON object, its keys in order. Written byte by byte: an encoder costs as much as the rest of a rendering.
    var json: String {
        var json: [UInt8] = []
        json.reserveCapacity(384)
        json += #"{"author_pubkey":""#.utf8
        Hex.append(input.author.bytes.words, to: &json)
        json += #"","created_at":"#.utf8
        json += String(input.event.createdAt).utf8
        json += #","event_id":""#.utf8
        Hex.append(input.event.id.bytes.words, to: &json)
        json += #"","kind":"#.utf8
        json += String(input.event.kind.rawValue).utf8
        if let referenced = input.referenced {
            if let content = referenced.content {
                json += #","referenced_event_content":"#.utf8
                Self.append(Excerpt.of(UntrustedText.neutral(content, isMultiline: true).text), to: &json)
            }
            json += #","referenced_event_id":""#.utf8
            Hex.append(referenced.id.bytes.words, to: &json)
            json.append(UInt8(ascii: "\""))
            if let kind = referenced.kind {
                json += #","referenced_event_kind":"#.utf8
                json += String(kind.rawValue).utf8
            }
        }
        json.append(UInt8(ascii: "}"))
        return String(decoding: json, as: UTF8.self)
    }

    /// Appends a JSON string, with the short escapes where JSON has them. Internal for tests.
    static func append(_ text: String, to json: inout [UInt8]) {
        var text = text
        json.append(UInt8(ascii: "\""))
        text.withUTF8 { text in
            for byte in text {
                switch byte {
                case 0x22, 0x5C: json += [0x5C, byte]
                case 0x08: json += [0x5C, UInt8(ascii: "b")]
                case 0x09: json += [0x5C, UInt8(ascii: "t")]
                case 0x0A: json += [0x5C, UInt8(ascii: "n")]
                case 0x0C: json += [0x5C, UInt8(ascii: "f")]
                case 0x0D: json += [0x5C, UInt8(ascii: "r")]
                case ..<0x20: json += [0x5C, UInt8(ascii: "u")] + Hex.encode([0, byte]).utf8
                default: json.append(byte)
                }
            }
        }
        json.append(UInt8(ascii: "\""))
    }
}
