import Notifications

/// Where and when a template is rendered.
struct TemplateScope: Sendable {
    /// The place the text goes to.
    var place = TextPlace.line
    /// What the template is written in; nil: nobody said.
    var language: LanguageTag?
    /// In milliseconds since 1970; 0: unknown.
    var now: Int64 = 0
    /// How `nostr:` URIs are spelled in texts that people read.
    var mentions = MentionStyle.raw
}
