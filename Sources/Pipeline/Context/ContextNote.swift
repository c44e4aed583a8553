import Nostr
import Rules

/// What is remembered of an event that others may refer to.
struct ContextNote: Sendable, Hashable {
    /// Only so much of a note is ever shown.
    private static let contentLimit = 400
    private static let byteLimit = 3200

    let author: PublicKey
    /// Whom the author says to speak for, in `root_identity` (seed 004). Not proven.
    let root: PublicKey?
    let kind: Kind
    /// The beginning; nil where nobody may be shown it.
    let content: String?

    init(author: PublicKey, root: PublicKey?, kind: Kind, content: String?) {
        self.author = author
        self.root = root
        self.kind = kind
        self.content = content
    }

    init(_ event: Event, withContent: Bool = true) {
        self.init(
            author: event.pubkey,
            root: event.value(of: "root_identity").flatMap { PublicKey(hex: $0) },
            kind: event.kind,
            content: withContent ? String(event.content.beginning(Self.contentLimit, bytes: Self.byteLimit)) : nil
        )
    }
}
