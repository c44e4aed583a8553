import Console
import Nostr
import Notifications
import Pipeline
import Rules
import Units

/// Decides what happens to an event as the match stage and the rules do.
struct TrialJudge: Sendable {
    /// An event that wakes somebody, and all that its texts may speak of.
    struct WakeUp: Sendable {
        let rule: Rule
        let signal: Signal
        let input: RuleInput
        let count: UInt32
    }

    enum Verdict: Sendable {
        case wakes(WakeUp)
        /// With the reason, which completes the sentence "It wakes nobody: …", and the rule that drops it, if one does.
        case wakesNobody(Sentence, by: String? = nil)

        var wakesSomebody: Bool {
            if case .wakes = self { true } else { false }
        }
    }

    let rules: RuleBook
    let recipient: PublicKey?
    let authorName: String?
    /// The nearest that the rules speak.
    let language: LanguageTag?
    let app: String
    /// Nil: that is not known.
    let isAuthorFollowed: Bool?
    let now: Timestamp

    func verdict(on subject: TrialSubject, platform: String) throws(TrialFailure) -> Verdict {
        let event = subject.event
        guard let account = recipient ?? subject.recipient else {
            let isOfNobody = event.mentionedKeys.isEmpty
            let problem = isOfNobody ? "it names nobody" : "it names several people"
            throw TrialFailure(
                description: "\(subject.name): say with --recipient which account the event concerns, for \(problem)",
                says: Statement(isOfNobody ? "event-of-nobody" : "event-of-several")
            )
        }
        guard event.mentionedKeys.contains(account) else {
            return .wakesNobody(Sentence("not-named", [:], "no p tag names the recipient"))
        }
        guard event.pubkey != account else { return .wakesNobody(Sentence("own", [:], "the recipient wrote it")) }
        let concern: Relevance
        do {
            concern = try Relevance.classify(event, for: account) { $0 == subject.referenced?.id ? [account] : nil }
        } catch {
            return .wakesNobody(Self.sentence(error))
        }
        let question = question(event, concern, of: account, platform)
        switch rules.decide(question) {
        case .drop(let rule):
            let place = rule.place.map { " (\($0))" } ?? ""
            let words = "the rule '\(rule.name)' drops it\(place)"
            return .wakesNobody(Sentence("dropped", ["rule": rule.name], words), by: rule.name)
        case .unmatched:
            return .wakesNobody(unmatched(event.kind))
        case .notify(let rule, let signal):
            let input = RuleInput(
                facts: question.facts,
                recipient: account,
                signal: signal,
                relation: concern.relation,
                author: concern.author,
                authorName: authorName ?? subject.authorName ?? AuthorName.standIn(for: concern),
                referenced: concern.referencedID.map { referenced($0, subject, of: account) },
                zap: concern.zap,
                mentioned: mentioned(subject, account)
            )
            return .wakes(WakeUp(rule: rule, signal: signal, input: input, count: subject.count))
        }
    }

    /// Fixtures refer to what the recipient wrote.
    private func referenced(_ id: EventID, _ subject: TrialSubject, of account: PublicKey) -> ReferencedEvent {
        guard var referenced = subject.referenced, referenced.id == id else { return ReferencedEvent(id: id) }
        referenced.author = account
        referenced.authorName = AuthorName.standIn(for: account.hex)
        return referenced
    }

    private func mentioned(_ subject: TrialSubject, _ account: PublicKey) -> [NostrReference: String] {
        var known: [NostrReference: String] = [:]
        if let name = authorName ?? subject.authorName { known[.profile(subject.event.pubkey)] = name }
        if let referenced = subject.referenced, let content = referenced.content {
            known[.event(referenced.id)] = content
        }
        return known
    }

    func rendering(of wakeUp: WakeUp, mode: Mode, on platform: String) -> Rendering {
        let rendering = wakeUp.rule.rendering(
            wakeUp.input,
            signal: wakeUp.signal,
            mode: mode,
            language: language,
            isSilent: wakeUp.rule.isSilent(on: platform),
            now: now
        )
        guard wakeUp.count > 1 else { return rendering }
        return Rendering(
            notification: rules[app].renderSummary(
                count: wakeUp.count,
                signal: wakeUp.signal,
                urgency: rendering.notification.urgency,
                mode: rendering.notification.mode,
                language: language,
                now: now
            )
        )
    }

    private func question(
        _ event: Event,
        _ concern: Relevance,
        of account: PublicKey,
        _ platform: String
    ) -> RuleQuestion {
        var question = RuleQuestion(
            event: event,
            author: concern.author,
            recipient: account,
            relation: concern.relation,
            signal: concern.signal,
            zapMillisats: concern.zap?.millisats,
            language: language,
            isAuthorFollowed: isAuthorFollowed
        )
        (question.platform, question.app) = (platform, app)
        return question
    }

    private static func sentence(_ reason: Irrelevance) -> Sentence {
        switch reason {
        case .notTarget: Sentence("not-target", [:], reason.description)
        case .ownZap: Sentence("own-zap", [:], reason.description)
        case .invalidZap: Sentence("invalid-zap", ["detail": reason.description], reason.description)
        }
    }

    private func unmatched(_ kind: Kind) -> Sentence {
        let values = ["kind": "\(kind.rawValue)"]
        guard rules[app].rules.contains(where: { $0.isFor(kind) }) else {
            return Sentence("no-rule", values, "no rule is for kind \(kind.rawValue)")
        }
        return Sentence(
            "no-condition",
            values,
            "there are rules for kind \(kind.rawValue), but the conditions of none hold, or it names no signal"
        )
    }
}
