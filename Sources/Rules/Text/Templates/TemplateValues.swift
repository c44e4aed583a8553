import Mustache
import Nostr
import Notifications
import Units

/// The values of variables, by name.
struct TemplateValues: MustacheParent {
    private let input: RuleInput?
    private let count: UInt32
    private var scope: TemplateScope

    init(_ input: RuleInput, now: Timestamp = .epoch, mentions: MentionStyle = .raw) {
        self.input = input
        self.count = 1
        self.scope = TemplateScope(now: now, mentions: mentions)
    }

    /// For texts that are about no event in particular.
    init(count: UInt32) {
        self.input = nil
        self.count = count
        self.scope = TemplateScope()
    }

    /// The same for a template in `language`.
    func speaking(_ language: LanguageTag) -> TemplateValues {
        var values = self
        values.scope.language = language
        return values
    }

    /// The same for a text that goes to such a place.
    func going(to place: TextPlace) -> TemplateValues {
        var values = self
        values.scope.place = place
        return values
    }

    func child(named name: String) -> Any? {
        switch name {
        case "event": group(.event)
        case "author": group(.author)
        case "recipient": group(.recipient)
        case "referenced": input?.referenced == nil ? nil : group(.referenced)
        case "zap": input?.zap == nil ? nil : group(.zap)
        case "signal": word(input?.signal?.rawValue)
        case "relation": word(input?.relation?.rawValue)
        case "count": word(String(count))
        case "batch": word(count > 1 ? "batch" : nil)
        default: nil
        }
    }

    private func group(_ group: TemplateGroup.Name) -> TemplateGroup? {
        input.map { TemplateGroup(name: group, input: $0, scope: scope) }
    }

    private func word(_ word: String?) -> TemplateText {
        TemplateText(content: .words(word ?? ""), scope: scope)
    }
}
