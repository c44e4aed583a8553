import Foundation
import Push
import Testing

@testable import Nostr
@testable import Rules

/// Builds inputs without signing anything: rules never look at signatures.
enum Fixture {
    static let author = PublicKey(Bytes32(words: (1, 2, 3, 4)))
    static let recipient = PublicKey(Bytes32(words: (5, 6, 7, 8)))
    static let sender = PublicKey(Bytes32(words: (17, 18, 19, 20)))
    static let eventID = EventID(Bytes32(words: (9, 10, 11, 12)))
    static let referencedID = EventID(Bytes32(words: (13, 14, 15, 16)))

    static func event(kind: UInt16, content: String, tags: [[String]] = []) -> Event {
        let zero = Bytes32(words: (0, 0, 0, 0))
        return Event(
            id: eventID,
            pubkey: author,
            createdAt: 1_708_000_000,
            kind: Kind(kind),
            tags: tags,
            content: content,
            signature: Signature(first: zero, second: zero)
        )
    }

    static func zap(millisats: UInt64, comment: String = "", isAnonymous: Bool = false) -> ZapReceipt {
        ZapReceipt(
            request: EventID(Bytes32(words: (9, 9, 9, 9))),
            sender: sender,
            isAnonymous: isAnonymous,
            recipient: recipient,
            millisats: millisats,
            comment: comment,
            zapped: nil
        )
    }

    static func input(
        kind: UInt16,
        content: String = "",
        author: String = "alice",
        signal: Signal? = nil,
        relation: Relation? = nil,
        referenced: ReferencedEvent? = nil,
        tags: [[String]] = []
    ) -> RuleInput {
        var input = RuleInput(
            event: event(kind: kind, content: content, tags: tags),
            recipient: recipient,
            signal: signal,
            authorName: author,
            referenced: referenced
        )
        input.relation = relation
        return input
    }
}

extension RuleBook {
    /// Returns the notification that the rules make of `input` in mode alert; nil if they drop it.
    func notification(for input: RuleInput, mode: Mode = .alert) -> Push.Notification? {
        let decision = decide(
            RuleQuestion(
                event: input.event,
                relation: input.relation,
                signal: input.signal,
                zapMillisats: input.zap?.millisats
            )
        )
        guard case .notify(let rule, let signal) = decision else { return nil }
        return rule.render(input, signal: signal, mode: mode)
    }
}

func jsonObject(_ text: String) throws -> NSDictionary {
    try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
}
