import Nostr
import Notifications
import Rules

/// Renders an event for one recipient, once for each mode that its devices ask for.
final class Renderer {
    let rule: Rule
    let signal: Signal
    let event: Event
    let recipient: PublicKey
    let concern: EventConcern
    private var rendered: [Mode: Notification] = [:]

    init(rule: Rule, signal: Signal, event: Event, recipient: PublicKey, concern: EventConcern) {
        self.rule = rule
        self.signal = signal
        self.event = event
        self.recipient = recipient
        self.concern = concern
    }

    func notification(in mode: Mode, context: inout EventContext) -> Notification {
        if let notification = rendered[mode] { return notification }
        let input = RuleInput(
            event: event,
            recipient: recipient,
            signal: signal,
            relation: concern.relation,
            author: concern.author,
            authorName: context.name(of: concern),
            referenced: concern.referencedID.map { context.referenced($0) },
            zap: concern.zap
        )
        let notification = rule.render(input, signal: signal, mode: mode)
        rendered[mode] = notification
        return notification
    }
}
