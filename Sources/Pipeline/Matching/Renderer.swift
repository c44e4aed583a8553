import Cipher
import Core
import Nostr
import Push
import Registry
import Rules

/// Renders an event by one rule, for one recipient or for all that get the same content. It renders once for each mode
/// and language of the devices, and once for platforms where the event is silent.
final class Renderer {
    private struct Form: Equatable {
        let mode: Mode
        let language: LanguageTag?
        let isSilent: Bool
    }

    let rule: Rule
    let signal: Signal
    private let recipient: PublicKey
    let relevance: Relevance
    /// The event and its parsed parts, shared by all recipients.
    let facts: EventFacts
    /// The input of ``rule``. Kept only for pacing, which reads it for each device. A rendering reads it once or a few
    /// times, and its input is large.
    private var paceInput: RuleInput?
    /// Many devices share one or a few forms. Beyond ``most`` forms, searching costs more than rendering.
    private var rendered: [(form: Form, rendering: Rendering)] = []
    private static let most = 32
    private var signals: SignalSet?

    init(rule: Rule, signal: Signal, recipient: PublicKey, relevance: Relevance, facts: EventFacts) {
        self.rule = rule
        self.signal = signal
        self.recipient = recipient
        self.relevance = relevance
        self.facts = facts
    }

    /// Returns the event for devices of `platform`, in that mode or the rule's stricter one.
    func rendering(
        in mode: Mode,
        _ language: LanguageTag?,
        on platform: String,
        context: inout EventContext,
        at now: Timestamp
    ) -> Rendering {
        let form = Form(mode: mode, language: language, isSilent: rule.isSilent(on: platform))
        if let known = rendered.first(where: { $0.form == form }) { return known.rendering }
        var rendering = rule.rendering(
            input(context: &context),
            signal: signal,
            mode: mode,
            language: language,
            isSilent: form.isSilent,
            now: now
        )
        rendering.notification.origin = EventOrigin(facts.event)
        if rendered.count < Self.most { rendered.append((form, rendering)) }
        return rendering
    }

    /// Returns ``signal`` as a set, looked up once. `names` must not change while an event is processed.
    func signals(of names: SignalNames) -> SignalSet {
        if let signals { return signals }
        let signals = names[signal]
        self.signals = signals
        return signals
    }

    /// Returns the parts of the notification that matter to the pace of a device of `platform`.
    func paceMatch(
        on platform: String,
        in mode: Mode,
        context: inout EventContext,
        at now: Timestamp
    ) -> PaceMatch {
        let push = rule.push(on: platform, in: mode)
        var mark: Int64?
        if push.pace == .latest || (push.pace == .immediate && push.nature == .special) {
            mark = paceMark(of: push, context: &context, at: now)
        }
        var match = PaceMatch(
            event: facts.event.id,
            signal: signal,
            mode: min(mode, rule.mode),
            urgency: rule.urgency,
            expiresAt: rule.expiresAt(of: facts, in: mode, from: now),
            nature: push.nature
        )
        match.pace = push.pace
        match.mark = mark
        // A gift wrap is dated back (NIP-59).
        if mark != nil { match.madeAt = facts.event.kind.isGiftWrap ? now.seconds : facts.event.createdAt }
        return match
    }

    /// Returns a hash of the push's pace key (``PaceMatch/mark``), which stays the same after a restart.
    private func paceMark(of push: PacedPush, context: inout EventContext, at now: Timestamp) -> Int64 {
        let input = paceInput ?? input(context: &context)
        paceInput = input
        return SHA256.mark(of: Array(rule.paceKey(of: push, input, now: now).utf8))
    }

    private func input(context: inout EventContext) -> RuleInput {
        let needs = rule.needs(in: .alert)
        var input = RuleInput(
            facts,
            recipient: recipient,
            signal: signal,
            author: relevance.author,
            authorName: context.name(of: relevance)
        )
        input.relation = relevance.relation
        input.referenced = relevance.referencedID.map {
            context.referenced($0, isAuthorNamed: needs.contains(.referencedAuthorName))
        }
        input.zap = relevance.zap
        if needs.contains(.mentions) { input.mentioned = context.mentioned(by: facts.references, relevance) }
        return input
    }
}

/// The renderers of one event. Recipients share a renderer if the rule's content is the same for all: an event may name
/// thousands.
final class EventRenderers {
    /// There are few rules and relations; beyond this, searching costs more than rendering.
    private static let limit = 16

    private let facts: EventFacts
    private var shared: [Renderer] = []

    init(of facts: EventFacts) {
        self.facts = facts
    }

    func renderer(_ rule: Rule, _ signal: Signal, for recipient: PublicKey, _ relevance: Relevance) -> Renderer {
        if !rule.speaksOfRecipient,
            let renderer = shared.first(where: {
                $0.rule === rule && $0.signal == signal && $0.relevance == relevance
            })
        {
            return renderer
        }
        let renderer = Renderer(
            rule: rule,
            signal: signal,
            recipient: recipient,
            relevance: relevance,
            facts: facts
        )
        if !rule.speaksOfRecipient, shared.count < Self.limit { shared.append(renderer) }
        return renderer
    }
}
