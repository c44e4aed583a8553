import Nostr
import Notifications
import Rules

/// Renders an event for one recipient by one rule, once for each mode and language that its devices ask for.
final class Renderer {
    private struct Form: Hashable {
        let mode: Mode
        let language: LanguageTag?
    }

    let rule: Rule
    let signal: Signal
    private let event: Event
    private let recipient: PublicKey
    private let concern: EventConcern
    private var input: RuleInput?
    private var rendered: [Form: Rendering] = [:]

    init(rule: Rule, signal: Signal, event: Event, recipient: PublicKey, concern: EventConcern) {
        self.rule = rule
        self.signal = signal
        self.event = event
        self.recipient = recipient
        self.concern = concern
    }

    /// What a device may see of the event in that mode or a stricter one of the rule; `now` is in milliseconds since 1970.
    func rendering(
        in mode: Mode,
        _ language: LanguageTag?,
        context: inout EventContext,
        at now: Int64
    ) -> Rendering {
        let form = Form(mode: mode, language: language)
        if let rendering = rendered[form] { return rendering }
        let input = self.input ?? input(context: &context)
        self.input = input
        let rendering = rule.rendering(input, signal: signal, mode: mode, language: language, now: now)
        rendered[form] = rendering
        return rendering
    }

    private func input(context: inout EventContext) -> RuleInput {
        RuleInput(
            event: event,
            recipient: recipient,
            signal: signal,
            relation: concern.relation,
            author: concern.author,
            authorName: context.name(of: concern),
            referenced: concern.referencedID.map { context.referenced($0) },
            zap: concern.zap
        )
    }
}
