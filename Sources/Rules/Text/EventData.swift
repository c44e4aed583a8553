import Cipher
import JSON
import Nostr

/// The custom keys that tell an app about the event (seed 000, "Always Present (custom data)" and after).
enum EventData {
    /// The names of its keys.
    static let keys: Set = [
        "event_id", "author_pubkey", "kind", "created_at", "referenced_event_id", "referenced_event_kind",
        "referenced_event_content",
    ]

    /// A JSON object, its keys in order. Written piece by piece: an encoder costs as much as the rest of a rendering.
    static func json(of source: TemplateSource) -> String {
        let facts = source.input.facts
        var json = JSONText()
        json.bytes.reserveCapacity(384)
        json.append(#"{"author_pubkey":""#)
        Hex.append(source.input.author.bytes.words, to: &json.bytes)
        json.append(#"","created_at":"#)
        json.append(facts.event.createdAt)
        json.append(#","event_id":""#)
        Hex.append(facts.event.id.bytes.words, to: &json.bytes)
        json.append(#"","kind":"#)
        json.append(facts.event.kind.rawValue)
        if let referenced = source.input.referenced {
            if let content = referenced.content {
                json.append(#","referenced_event_content":"#)
                json.appendQuoted(Excerpt.of(UntrustedText.neutral(content, isMultiline: true).text))
            }
            json.append(#","referenced_event_id":""#)
            Hex.append(referenced.id.bytes.words, to: &json.bytes)
            json.append("\"")
            if let kind = referenced.kind {
                json.append(#","referenced_event_kind":"#)
                json.append(kind.rawValue)
            }
        }
        json.append("}")
        return String(decoding: json.bytes, as: UTF8.self)
    }
}
