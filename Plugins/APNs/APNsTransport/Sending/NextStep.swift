import PluginKit

/// What to do after an answer.
enum NextStep {
    case end(Outcome)
    /// The provider token expired. The outcome depends on its age.
    case newProviderToken
    /// Try the same push in the other environment.
    case otherEnvironment(Environment, Alternatives)
    /// Send an alert to the device. `isDead`: the push's own token is dead for good; otherwise nothing is known of it.
    case alert(Alternatives.Alert, Alternatives, isDead: Bool)

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
            self = .otherEnvironment(other, alternatives.elsewhere(after: outcome))
            return
        }
        if let alert = alternatives.alert, answer.isAboutToken || alternatives.firstOutcome != nil {
            let isDead = !answer.isStale(registeredAt: recipient.registeredAt)
            self = .alert(alert, alternatives, isDead: isDead)
            return
        }
        // The second environment is a guess. Unless it knows the token to be dead, the first environment's answer
        // counts.
        self = .end(alternatives.firstOutcome.flatMap { answer.status == 410 ? nil : $0 } ?? outcome)
    }
}

/// What else a ticket may send when Apple does not know the token of its push.
///
/// Only pushes with alternatives have one. The others keep nothing while in flight.
final class Alternatives: Sendable {
    /// An alert to the device token, in place of a push to a token of its own.
    struct Alert: Sendable {
        let push: Result<Push, PayloadError>
        let deviceToken: String
        /// The token of the push that the alert replaces.
        let deadToken: TokenKey
    }

    let push: Push
    let token: String
    /// The key under which facts about all of the device's tokens are remembered.
    let device: TokenKey
    /// Where the same push may be tried.
    let otherEnvironment: Environment?
    let alert: Alert?
    /// The outcome in the first environment, when this is the second.
    let firstOutcome: Outcome?

    init(
        _ push: Push,
        token: String,
        device: TokenKey,
        otherEnvironment: Environment?,
        alert: Alert? = nil,
        firstOutcome: Outcome? = nil
    ) {
        self.push = push
        self.token = token
        self.device = device
        self.otherEnvironment = otherEnvironment
        self.alert = alert
        self.firstOutcome = firstOutcome
    }

    /// The alternatives that remain after the first environment has answered.
    func elsewhere(after outcome: Outcome) -> Alternatives {
        Alternatives(push, token: token, device: device, otherEnvironment: nil, alert: alert, firstOutcome: outcome)
    }
}
