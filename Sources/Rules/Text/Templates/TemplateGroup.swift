import Mustache
import Nostr

/// The variables behind one dot.
struct TemplateGroup: MustacheParent {
    enum Name {
        case event
        case author
        case recipient
        case referenced
        case zap
        case tag
    }

    let name: Name
    let input: RuleInput
    let scope: TemplateScope

    func child(named member: String) -> Any? {
        if name == .event, member == "tag" { return TemplateGroup(name: .tag, input: input, scope: scope) }
        return content(of: member).map { TemplateText(content: $0, scope: scope) }
    }

    private func content(of member: String) -> TemplateText.Content? {
        let event = input.event
        return switch (name, member) {
        case (.event, "id"): .eventID(event.id, author: event.pubkey, kind: event.kind)
        case (.event, "pubkey"): .publicKey(event.pubkey)
        case (.event, "kind"): .words(String(event.kind.rawValue))
        case (.event, "content"): .untrusted(event.content)
        case (.event, "created_at"): .moment(event.createdAt)
        case (.event, "subject"): event.value(of: "subject").map { .untrusted($0) }
        case (.author, "name"): .name(input.authorName, of: input.author)
        case (.author, "pubkey"): .publicKey(input.author)
        case (.author, "npub"): .words(NIP19.npub(input.author))
        case (.recipient, "pubkey"): .publicKey(input.recipient)
        case (.recipient, "npub"): .words(NIP19.npub(input.recipient))
        case (.referenced, "id"): input.referenced.map { .eventID($0.id, author: nil, kind: $0.kind) }
        case (.referenced, "kind"): input.referenced?.kind.map { .words(String($0.rawValue)) }
        case (.referenced, "content"): input.referenced?.content.map { .untrusted($0) }
        case (.zap, "amount"): input.zap.map { .words(ZapAmount.text(millisats: $0.millisats)) }
        case (.zap, "comment"): input.zap.map { .untrusted($0.comment) }
        case (.zap, "anonymous"): input.zap.map { .words($0.isAnonymous ? "anonymous" : "") }
        case (.tag, _): event.value(of: member).map { .untrusted($0) }
        default: nil
        }
    }
}
