import PluginKit

/// What may go out when Apple does not know the token of a push, within the same ticket.
///
/// Only there for pushes that have some: the rest keeps nothing once it is on its way.
final class Alternatives: Sendable {
    /// An alert for the device itself, in place of a push to a token of its own.
    struct Alert: Sendable {
        let push: Result<Push, PayloadMistake>
        let deviceToken: String
        /// The token that the other push goes to.
        let deadToken: TokenKey
    }

    let push: Push
    let token: String
    /// What is remembered under this holds for all tokens of the device.
    let device: TokenKey
    /// Where the same may be tried.
    let otherEnvironment: Environment?
    let alert: Alert?
    /// What follows from what the first environment said, when this is the second.
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

    /// What is left once the first environment has answered.
    func elsewhere(after outcome: Outcome) -> Alternatives {
        Alternatives(push, token: token, device: device, otherEnvironment: nil, alert: alert, firstOutcome: outcome)
    }
}
