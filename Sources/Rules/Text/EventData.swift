import Foundation
import Nostr

/// The custom keys that tell an app about the event (seed 000, "Always Present (custom data)" and after).
struct EventData: Encodable {
    private let event_id: String
    private let author_pubkey: String
    private let kind: UInt16
    private let created_at: Int64
    private let referenced_event_id: String?
    private let referenced_event_kind: UInt16?
    private let referenced_event_content: String?

    /// The names of its keys.
    static let keys: Set = [
        "event_id", "author_pubkey", "kind", "created_at", "referenced_event_id", "referenced_event_kind",
        "referenced_event_content",
    ]

    init(_ input: RuleInput) {
        event_id = input.event.id.hex
        author_pubkey = input.author.hex
        kind = input.event.kind.rawValue
        created_at = input.event.createdAt
        referenced_event_id = input.referenced?.id.hex
        referenced_event_kind = input.referenced?.kind?.rawValue
        referenced_event_content = input.referenced?.content.map {
            Excerpt.of(UntrustedText.neutral($0, isMultiline: true).text)
        }
    }

    /// A JSON object.
    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
