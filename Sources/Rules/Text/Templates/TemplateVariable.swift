/// Something that a text may put in.
struct TemplateVariable: Sendable, Hashable {
    /// What it holds, and so which functions go with it.
    enum Content: Sendable {
        case text
        case publicKey
        case eventID
        /// Seconds since 1970.
        case moment
        /// A tag's value, which may be any of these.
        case tag
    }

    /// As a template writes it.
    let name: String
    let content: Content

    private init(_ name: String, _ content: Content = .text) {
        self.name = name
        self.content = content
    }

    /// What texts about one event may put in, besides ``tagPrefix`` and the name of a tag.
    static let ofEvents: [TemplateVariable] =
        [
            TemplateVariable("event.id", .eventID), TemplateVariable("event.pubkey", .publicKey),
            TemplateVariable("event.kind"), TemplateVariable("event.content"),
            TemplateVariable("event.created_at", .moment), TemplateVariable("event.subject"),
            TemplateVariable("author.name"), TemplateVariable("author.pubkey", .publicKey),
            TemplateVariable("author.npub"), TemplateVariable("recipient.pubkey", .publicKey),
            TemplateVariable("recipient.npub"), TemplateVariable("referenced.id", .eventID),
            TemplateVariable("referenced.kind"), TemplateVariable("referenced.content"),
            TemplateVariable("zap.amount"), TemplateVariable("zap.comment"), TemplateVariable("zap.anonymous"),
            TemplateVariable("signal"), TemplateVariable("relation"),
        ] + ofBatches

    /// What texts may put in that may say nothing of any event.
    static let ofBatches = [TemplateVariable("count"), TemplateVariable("batch")]

    static let tagPrefix = "event.tag."

    /// The first value of the first tag called `name`; nil if no tag in a template can be called so.
    static func tag(_ name: some StringProtocol) -> TemplateVariable? {
        let isName = name.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0)
                || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
        }
        guard isName, (1...32).contains(name.utf8.count) else { return nil }
        return TemplateVariable(tagPrefix + name, .tag)
    }
}
