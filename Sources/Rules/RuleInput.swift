import Core
import JSON
import Nostr
import Push
import Synchronization

/// The input for rendering a rule's notification: an event in relation to one recipient.
package struct RuleInput: Sendable {
    package var event: Event {
        get { facts.event }
        set { facts = EventFacts(newValue) }
    }
    package var recipient: PublicKey
    /// The match stage's choice; nil for kinds unknown to Carillon.
    package var signal: Signal?
    package var relation: Relation?
    /// The person who caused it: the sender of a zap, or else the event's author.
    package var author: PublicKey
    /// The author's name, or a placeholder.
    package var authorName: String
    package var referenced: ReferencedEvent?
    package var zap: ZapReceipt?
    /// Names of mentioned people, and texts of mentioned events.
    package var mentioned: [NostrReference: String] = [:]
    /// The event, and values parsed out of it, shared by all recipients.
    package private(set) var facts: EventFacts

    /// Creates an input that does not share the event's parsed values. The event's author caused it.
    package init(
        event: Event,
        recipient: PublicKey,
        signal: Signal?,
        authorName: String,
        referenced: ReferencedEvent? = nil
    ) {
        self.init(
            EventFacts(event),
            recipient: recipient,
            signal: signal,
            author: event.pubkey,
            authorName: authorName
        )
        self.referenced = referenced
    }

    /// Creates an input that shares `facts` with others.
    package init(
        _ facts: EventFacts,
        recipient: PublicKey,
        signal: Signal?,
        author: PublicKey,
        authorName: String
    ) {
        self.facts = facts
        self.recipient = recipient
        self.signal = signal
        self.author = author
        self.authorName = authorName
    }
}

/// The event that another one reacts to, reposts or replies to. Its id is always known from the tag, the rest only
/// after the event was received.
package struct ReferencedEvent: Sendable, Hashable {
    package var id: EventID
    package var kind: Kind?
    package var content: String?
    package var author: PublicKey?
    /// The author's name, or a placeholder.
    package var authorName: String?

    package init(
        id: EventID,
        kind: Kind? = nil,
        content: String? = nil,
        author: PublicKey? = nil,
        authorName: String? = nil
    ) {
        self.id = id
        self.kind = kind
        self.content = content
        self.author = author
        self.authorName = authorName
    }
}

/// Parsed values of an event. Each is parsed once, at its first use by any rule or recipient.
package final class EventFacts: Sendable {
    private struct Known {
        var json: JSONValue??
        var mentionedKeys: [PublicKey]?
        var references: [NostrReference]?
    }

    /// The limit in bytes. Longer content does not count as JSON.
    private static let jsonLimit = 65_536
    /// The maximum number of references in a text that are resolved.
    package static let referenceLimit = 8

    package let event: Event
    /// When the event expires (NIP-40); the epoch means never.
    let expiresAt: Timestamp
    private let known = Mutex(Known())

    package init(_ event: Event) {
        self.event = event
        // A date before 1970 has passed too.
        expiresAt = event.expiration.map { max(Timestamp(milliseconds: 1), Timestamp(seconds: $0)) } ?? .epoch
    }

    /// The content, if it is a JSON object or list.
    package var json: JSONValue? {
        known.withLock { known in
            if let json = known.json { return json }
            let json = Self.json(event.content)
            known.json = json
            return json
        }
    }

    /// The keys in the `p` tags.
    var mentionedKeys: [PublicKey] {
        known.withLock { known in
            if let keys = known.mentionedKeys { return keys }
            let keys = event.mentionedKeys
            known.mentionedKeys = keys
            return keys
        }
    }

    /// The first few `nostr:` references in the content.
    package var references: [NostrReference] {
        known.withLock { known in
            if let references = known.references { return references }
            let references = NostrReference.all(in: event.content, limit: Self.referenceLimit).map(\.reference)
            known.references = references
            return references
        }
    }

    private static func json(_ content: String) -> JSONValue? {
        guard content.utf8.count <= jsonLimit,
            let first = content.utf8.first(where: { ![0x20, 0x09, 0x0A, 0x0D].contains($0) }),
            first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
        else { return nil }
        return try? JSONValue(parsing: content)
    }
}

/// A path to a value inside of JSON: names of members or indices of elements from 0, separated by dots.
struct JSONPath: Hashable, Sendable {
    static let expectation =
        "expected a path of at most 8 names separated by dots, such as order.total"
    private static let depth = 8
    private static let nameLimit = 64

    fileprivate let names: [String]

    init?(_ text: some StringProtocol) {
        let names = String(text).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard names.count <= Self.depth, names.allSatisfy({ (1...Self.nameLimit).contains($0.utf8.count) }) else {
            return nil
        }
        self.names = names
    }
}

extension JSONValue {
    /// The value at that path; nil when there is none.
    subscript(path: JSONPath) -> JSONValue? {
        path.names.reduce(self as JSONValue?) { value, name in value?[part: name] }
    }

    /// The member of that name, or the element at that index. Nil for a `null` element too.
    subscript(part name: String) -> JSONValue? {
        switch self {
        case .object(let object): return object[name]
        case .array(let elements):
            guard let index = Int(name), elements.indices.contains(index), elements[index] != .null else { return nil }
            return elements[index]
        default: return nil
        }
    }
}
