import Mustache
import Nostr
import Notifications
import Units

/// The values of variables, by name.
struct TemplateValues: MustacheParent {
    private let source: TemplateSource?
    private let count: UInt32
    private var scope: TemplateScope

    init(_ input: consuming RuleInput, now: Timestamp = .epoch, mentions: MentionStyle = .raw) {
        self.init(TemplateSource(input), now: now, mentions: mentions)
    }

    init(_ source: TemplateSource, now: Timestamp, mentions: MentionStyle) {
        self.source = source
        self.count = 1
        self.scope = TemplateScope(now: now, mentions: mentions)
    }

    /// For texts that are about no event in particular.
    init(count: UInt32) {
        self.source = nil
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
        case "referenced": source?.input.referenced == nil ? nil : group(.referenced)
        case "zap": source?.input.zap == nil ? nil : group(.zap)
        default: word(name, scope)
        }
    }

    /// The value of a variable for a text that goes to `place`; nil where there is none.
    func text(_ path: TemplatePath, in place: TextPlace) -> TemplateText? {
        var scope = scope
        scope.place = place
        switch path {
        case .word(let name): return word(name, scope)
        case .member(let group, let member):
            guard let source else { return nil }
            return TemplateGroup.content(of: member, in: group, source, scope)
                .map { TemplateText(content: $0, scope: scope) }
        case .tag(let name, let place):
            guard let tag = source?.input.event.firstTag(name), tag.indices.contains(place) else { return nil }
            return TemplateText(content: .untrusted(tag[place]), scope: scope)
        }
    }

    private func word(_ name: String, _ scope: TemplateScope) -> TemplateText? {
        let word: String?
        switch name {
        case "signal": word = source?.input.signal?.rawValue
        case "relation": word = source?.input.relation?.rawValue
        case "count": word = String(count)
        case "batch": word = count > 1 ? "batch" : nil
        default: return nil
        }
        return TemplateText(content: .words(word ?? ""), scope: scope)
    }

    private func group(_ group: TemplateGroup.Name) -> TemplateGroup? {
        source.map { TemplateGroup(name: group, source: $0, scope: scope) }
    }
}

/// What values are read out of. Shared, since values are passed on and changed for each text, and an input is many
/// strings.
final class TemplateSource: Sendable {
    let input: RuleInput

    init(_ input: consuming RuleInput) { self.input = input }
}
