import Caching
import JSON
import Platforms
import Synchronization

/// Makes the rules of what clients ask for, by the platforms that are loaded.
///
/// Most requests differ in their texts alone, and reading a whole rule would take a tenth of all the work for a
/// notification. So what the rules of such requests have in common is read once.
package final class RequestedRules: Sendable {
    /// What a request says besides its texts, and which texts it has.
    private struct Form: Hashable {
        let members: [JSONObject.Member]
        let nudge: ObjectIdentifier
    }

    /// The rule of an earlier request of the same form.
    private struct Known {
        /// Without its texts: what somebody was sent is not kept for the next request.
        let rule: Rule
        /// Kept, so that no other one gets its place in memory.
        let nudge: NeutralTemplates
    }

    /// What a rule's texts are read into. Whether they are there decides about the rest of the rule; what they say
    /// does not.
    private static let texts: [String: @Sendable (String, inout RuleTexts) throws(TemplateError) -> Void] = [
        "title": { text, texts throws(TemplateError) in
            texts.title = LocalizedTemplate(fallback: try Template(unchanged: text, in: .line))
        },
        "subtitle": { text, texts throws(TemplateError) in
            texts.subtitle = LocalizedTemplate(fallback: try Template(unchanged: text, in: .line))
        },
        "body": { text, texts throws(TemplateError) in
            texts.body = LocalizedTemplate(fallback: try Template(unchanged: text, in: .paragraph))
        },
        "thread": { text, texts throws(TemplateError) in
            texts.thread = try Template(unchanged: text, in: .identifier)
        },
        "collapse": { text, texts throws(TemplateError) in
            texts.collapse = try Template(unchanged: text, in: .identifier)
        },
        "url": { text, texts throws(TemplateError) in
            guard AbsoluteURL.isOne(text) else { throw TemplateError(AbsoluteURL.expectation) }
            texts.url = try Template(unchanged: text, in: .url)
        },
    ]
    /// What else a form may have. Blocks of platforms, `data` and buttons are read anew each time.
    private static let others: Set<String> = ["mode", "urgency", "category", "expires", "pace", "key"]
    private static let mostForms = 128
    /// Bytes of what a form has.
    private static let longestForm = 256

    private let platforms: PlatformCatalog
    private let blockChecks: BlockChecks
    /// Whether a platform's description looks into the texts of rules.
    private let mustReadAll: Bool
    private let known = Mutex(BoundedCache<Form, Known>(capacity: mostForms))

    package init(platforms: PlatformCatalog, blockChecks: BlockChecks) {
        self.platforms = platforms
        self.blockChecks = blockChecks
        mustReadAll = platforms.platforms.contains { platforms[$0]?.pushes.comparesRules ?? false }
    }

    /// The same as ``Rule/requested(_:by:name:platforms:blockChecks:)``.
    package func rule(_ object: JSONObject, by book: RuleBook, name: String) throws(RequestedRuleError) -> Rule {
        let read = mustReadAll ? nil : Self.read(object)
        let form = read.map { Form(members: $0.rest, nudge: ObjectIdentifier(book.nudge)) }
        if let read, let form, let known = known.withLock({ $0.value(of: form) }), known.rule.name == name {
            return known.rule.saying(read.texts)
        }
        let rule = try Rule.requested(object, by: book, name: name, platforms: platforms, blockChecks: blockChecks)
        if let form { known.withLock { $0.set(Known(rule: rule.saying(RuleTexts()), nudge: book.nudge), for: form) } }
        return rule
    }

    /// The texts of a request and the rest of it; nil where it is to be read as a whole, perhaps for a mistake in it.
    private static func read(_ object: JSONObject) -> (texts: RuleTexts, rest: [JSONObject.Member])? {
        var texts = RuleTexts()
        var rest = object.members
        var count = 0
        for (place, member) in object.members.enumerated() {
            guard case .string(let text) = member.value, !text.isEmpty else { return nil }
            if let take = Self.texts[member.name] {
                guard (try? take(text, &texts)) != nil else { return nil }
                // No request has this in place of a text, as it is no JSON.
                rest[place].value = .number("")
            } else {
                guard others.contains(member.name) else { return nil }
                count += text.utf8.count
            }
        }
        return count <= longestForm ? (texts, rest) : nil
    }
}
