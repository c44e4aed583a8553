import Nostr
import Notifications
import Pipeline
import Rules

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
        /// With the reason, which completes the sentence "It wakes nobody: …".
        case wakesNobody(String)
    }

    let rules: RuleBook
    let recipient: PublicKey?
    let authorName: String?
    let language: LanguageTag?
    let isAuthorFollowed: Bool
    let now: Int64

    func verdict(on subject: TrialSubject) throws(TrialFailure) -> Verdict {
        let event = subject.event
        guard let account = recipient ?? subject.recipient else {
            let problem = event.mentionedKeys.isEmpty ? "it names nobody" : "it names several people"
            throw TrialFailure(
                description: "\(subject.name): say with --recipient whom the event concerns, for \(problem)"
            )
        }
        guard event.mentionedKeys.contains(account) else { return .wakesNobody("no p tag names the recipient") }
        guard event.pubkey != account else { return .wakesNobody("the recipient wrote it") }
        let concern: EventConcern
        do {
            concern = try EventConcern.classify(event, for: account) { $0 == subject.referenced?.id ? [account] : nil }
        } catch {
            return .wakesNobody("\(error)")
        }
        switch rules.decide(question(event, concern)) {
        case .drop(let rule):
            return .wakesNobody("the rule '\(rule.name)' drops it\(rule.place.map { " (\($0))" } ?? "")")
        case .unmatched:
            return .wakesNobody(unmatched(event.kind))
        case .notify(let rule, let signal):
            let input = RuleInput(
                event: event,
                recipient: account,
                signal: signal,
                relation: concern.relation,
                author: concern.author,
                authorName: authorName ?? subject.authorName ?? AuthorName.standIn(for: concern),
                referenced: concern.referencedID.map {
                    $0 == subject.referenced?.id
                        ? subject.referenced ?? ReferencedEvent(id: $0) : ReferencedEvent(id: $0)
                },
                zap: concern.zap
            )
            return .wakes(WakeUp(rule: rule, signal: signal, input: input, count: subject.count))
        }
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
            notification: rules.renderSummary(
                count: wakeUp.count,
                signal: wakeUp.signal,
                urgency: rendering.notification.urgency,
                mode: rendering.notification.mode,
                language: language,
                now: now
            )
        )
    }

    private func question(_ event: Event, _ concern: EventConcern) -> RuleQuestion {
        RuleQuestion(
            event: event,
            relation: concern.relation,
            signal: concern.signal,
            zapMillisats: concern.zap?.millisats,
            language: language,
            isAuthorFollowed: isAuthorFollowed
        )
    }

    private func unmatched(_ kind: Kind) -> String {
        guard rules.rules.contains(where: { $0.isFor(kind) }) else { return "no rule is for kind \(kind.rawValue)" }
        return "there are rules for kind \(kind.rawValue), but the conditions of none hold, or it names no signal"
    }
}
