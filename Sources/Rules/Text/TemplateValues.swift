import Mustache
import Nostr
import Notifications

/// What templates can speak of, by name.
struct TemplateValues: MustacheParent {
    private let input: RuleInput?
    private let count: UInt32
    /// In milliseconds since 1970.
    private let now: Int64
    /// What the template is written in; nil: nobody said.
    private var language: LanguageTag?

    /// - Parameter now: In milliseconds since 1970.
    init(_ input: RuleInput, now: Int64 = 0) {
        self.input = input
        self.count = 1
        self.now = now
    }

    /// For the summary of a batch, which knows no event.
    init(count: UInt32) {
        self.input = nil
        self.count = count
        self.now = 0
    }

    /// The same for a template in `language`.
    func speaking(_ language: LanguageTag) -> TemplateValues {
        var values = self
        values.language = language
        return values
    }

    /// Every variable, as a template names it. ``child(named:)`` answers for each.
    static let names = [
        "event.id", "event.pubkey", "event.kind", "event.content", "event.created_at", "author.name", "author.pubkey",
        "recipient.pubkey", "referenced.id", "referenced.kind", "referenced.content", "zap.amount", "zap.comment",
        "zap.anonymous", "signal", "count", "batch",
    ]

    func child(named name: String) -> Any? {
        switch name {
        case "event": input.map { Members(of: $0, group: .event) }
        case "author": input.map { Members(of: $0, group: .author) }
        case "recipient": input.map { Members(of: $0, group: .recipient) }
        case "referenced": input.flatMap { $0.referenced == nil ? nil : Members(of: $0, group: .referenced) }
        case "zap": input.flatMap { $0.zap == nil ? nil : Members(of: $0, group: .zap) }
        case "signal": TemplateText(text: input?.signal?.rawValue ?? "")
        case "count": TemplateText(text: String(count))
        case "batch": TemplateText(text: count > 1 ? "batch" : "")
        default: nil
        }
    }

    /// The variables behind one dot.
    private struct Members: MustacheParent {
        enum Group {
            case event
            case author
            case recipient
            case referenced
            case zap
        }

        let input: RuleInput
        let group: Group

        init(of input: RuleInput, group: Group) {
            self.input = input
            self.group = group
        }

        func child(named name: String) -> Any? {
            text(named: name).map(TemplateText.init)
        }

        private func text(named name: String) -> String? {
            switch (group, name) {
            case (.event, "id"): input.event.id.hex
            case (.event, "pubkey"): input.event.pubkey.hex
            case (.event, "kind"): String(input.event.kind.rawValue)
            case (.event, "content"): input.event.content
            case (.event, "created_at"): String(input.event.createdAt)
            case (.author, "name"): input.authorName
            case (.author, "pubkey"): input.author.hex
            case (.recipient, "pubkey"): input.recipient.hex
            case (.referenced, "id"): input.referenced?.id.hex
            case (.referenced, "kind"): input.referenced?.kind.map { String($0.rawValue) }
            case (.referenced, "content"): input.referenced?.content
            case (.zap, "amount"): input.zap.map { ZapAmount.text(millisats: $0.millisats) }
            case (.zap, "comment"): input.zap?.comment
            case (.zap, "anonymous"): input.zap.map { $0.isAnonymous ? "anonymous" : "" }
            default: nil
            }
        }
    }
}
