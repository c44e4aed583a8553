import PluginKit

/// What follows from an answer.
enum Step {
    case end(Outcome)
    /// The provider token is too old: what follows depends on how old.
    case newProviderToken
    /// The same goes to the other environment.
    case elsewhere(Environment, Alternatives)
    /// The device gets an alert. `isDead`: the token of its own is so for good; else nothing is known of it.
    case alert(Alternatives.Alert, Alternatives, isDead: Bool)

    /// After `answer` for a push to `recipient`.
    init(after answer: APNsAnswer, for recipient: Recipient, _ alternatives: Alternatives?) {
        guard case .outcome(let outcome) = answer.verdict(for: recipient) else {
            self = .newProviderToken
            return
        }
        guard let alternatives, outcome.kind != .delivered, outcome.kind != .retry else {
            self = .end(outcome)
            return
        }
        if answer.isBadDeviceToken, let other = alternatives.otherEnvironment {
            self = .elsewhere(other, alternatives.elsewhere(after: outcome))
            return
        }
        if let alert = alternatives.alert, answer.isAboutToken || alternatives.firstOutcome != nil {
            let isDead = !answer.isStale(registeredAt: recipient.registeredAt)
            self = .alert(alert, alternatives, isDead: isDead)
            return
        }
        // The second environment is asked on a guess: unless it knows the token to be dead, the first one's word counts.
        self = .end(alternatives.firstOutcome.flatMap { answer.status == 410 ? nil : $0 } ?? outcome)
    }
}
