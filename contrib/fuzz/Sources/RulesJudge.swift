import Core
import JSON
import Nostr
import PlatformDocuments
import Push
import Rules

/// A rules file, and after a line of `---8<---` the content of an event to try the rules on. Every rule book that can
/// be read renders any text in any mode, and every block for a platform is JSON.
enum RulesJudge {
    private static let separator = "\n---8<---\n"
    private static let standard = "hello {{event.id}} \"\\ \u{202E}👩\u{200D}👩\n\u{7}https://example.com/?a=b#c"
    private static let zero = Bytes32(words: (0, 0, 0, 0))
    private static let kinds: [UInt16] = [0, 1, 3, 4, 6, 7, 1_059, 1_111, 9_735, 20_062, 30_023]

    private static let platforms = PlatformCatalog(
        ["ios": APNsDescription.json, "android": FCMDescription.json].compactMapValues {
            try? PlatformDescription(parsing: "\($0)")
        }
    )

    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        let parts = text.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
        guard let yaml = parts.first,
            let book = try? RuleBook(yaml: String(yaml), name: "rules.yaml", platforms: platforms)
        else { return true }
        let said = parts.count > 1 ? String(parts[1]) : standard
        for kind in kinds { judge(book, event(kind, said)) }
        for mode in Mode.allCases {
            let summary = book.renderSummary(count: 3, signal: .mention, urgency: .normal, mode: mode)
            promise(summary.mode == mode && summary.count == 3, "a summary is of its mode and count")
        }
        return true
    }

    private static func judge(_ book: RuleBook, _ event: Event) {
        var question = RuleQuestion(event: event, relation: .mention, signal: .mention)
        question.isAuthorFollowed = true
        guard case .notify(let rule, let signal) = book.decide(question) else { return }
        var input = RuleInput(
            event: event,
            recipient: PublicKey(zero),
            signal: .mention,
            authorName: event.content,
            referenced: ReferencedEvent(id: EventID(zero), kind: .textNote, content: event.content)
        )
        input.relation = .mention
        for language in [nil] + book.languages.prefix(3).map(Optional.some) {
            for mode in Mode.allCases {
                let notification = rule.render(
                    input,
                    signal: signal,
                    mode: mode,
                    language: language,
                    now: Timestamp(seconds: 1_700_000_100)
                )
                judge(notification, atMost: mode)
            }
        }
    }

    private static func judge(_ notification: Notification, atMost mode: Mode) {
        promise(notification.mode <= mode, "nothing shows more than it may")
        if notification.mode < .sealed {
            promise(notification.data.isEmpty && notification.native.isEmpty, "a neutral text has nothing behind it")
        }
        for json in [notification.data] + notification.native.values where !json.isEmpty {
            let value = promised("what a platform is told in JSON is JSON") { try JSONValue(parsing: json) }
            guard case .object = value else { return promise(false, "and an object") }
        }
        for line in [notification.title, notification.subtitle, notification.category, notification.thread] {
            promise(line.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "a line holds no control character")
        }
    }

    private static func event(_ kind: UInt16, _ content: String) -> Event {
        Event(
            id: EventID(zero),
            pubkey: PublicKey(zero),
            createdAt: 1_700_000_000,
            kind: Kind(kind),
            tags: [["t", content], ["e", String(repeating: "0", count: 64)], ["subject", content]],
            content: content,
            signature: Signature(first: zero, second: zero)
        )
    }
}
