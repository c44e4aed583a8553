import Core
import PluginKit

/// Sends pushes to devices. After each response it decides whether to try another environment or an alert.
final class PushSender: Sendable {
    /// A push in flight, with the data needed to interpret its response.
    private struct Attempt: Sendable {
        let ticket: Ticket
        let proof: Proof
        let type: PushType
        let environment: Environment
        let registeredAt: Timestamp
        let alternatives: Alternatives?
    }

    /// Up to four requests fit into the host's time limit for a delivery: two environments for each of two tokens.
    private static let timeoutOfOneOfSeveral: Duration = .seconds(12)

    private let client: APNsClient
    private let dispatcher: Dispatcher
    private let topics: Topics
    /// The URLs without the token.
    private let urls: PerEnvironment<String>
    /// The environments in which devices were found; nil unless the other environment is tried.
    private let foundEnvironments: TokenMemory<Environment>?

    init(_ client: APNsClient, _ dispatcher: Dispatcher, _ topics: Topics, triesOtherEnvironment: Bool) {
        self.client = client
        self.dispatcher = dispatcher
        self.topics = topics
        urls = client.origins.all.map { $0 + "/3/device/" }
        foundEnvironments = triesOtherEnvironment && client.origins.differ ? TokenMemory() : nil
    }

    func send(
        _ dispatch: consuming Dispatch,
        _ registration: borrowing Registration,
        _ ticket: Ticket,
        now: Timestamp
    ) -> Acceptance {
        guard let proof = client.credentials.proof(now: now) else { return .failed }
        let environment =
            foundEnvironments?.value(of: registration.token)
            ?? client.origins.environment(registration.field("environment"))
        let token = dispatch.token ?? registration.token
        let attempt = Attempt(
            ticket: ticket,
            proof: proof,
            type: dispatch.push.type,
            environment: environment,
            registeredAt: registration.registeredAt,
            alternatives: alternatives(to: dispatch, registration, environment)
        )
        let request = HTTPRequest("POST", url: urls[environment], followedBy: token, options: .multiplex)
        return send(dispatch.push, request, attempt)
    }

    private func alternatives(
        to dispatch: borrowing Dispatch,
        _ registration: borrowing Registration,
        _ environment: Environment
    ) -> Alternatives? {
        guard foundEnvironments != nil || dispatch.token != nil else { return nil }
        let token = dispatch.token ?? registration.token
        return Alternatives(
            dispatch.push,
            token: token.string,
            device: TokenKey(registration.token),
            otherEnvironment: foundEnvironments == nil ? nil : environment.other,
            alert: dispatch.alert.map {
                Alternatives.Alert(push: $0, deviceToken: registration.token.string, deadToken: TokenKey(token))
            }
        )
    }

    private func send(_ push: Push, _ request: consuming HTTPRequest, _ attempt: Attempt) -> Acceptance {
        request.maxResponseBytes = 4096
        if attempt.alternatives != nil {
            request.timeout = PushSender.timeoutOfOneOfSeveral
        }
        client.authorize(&request, with: attempt.proof)
        if let topic = topics[push.type] {
            request.addHeader("apns-topic", topic)
        }
        request.addHeader("apns-push-type", push.type.rawValue)
        request.addHeader("apns-priority", push.priority.headerValue)
        if let collapseID = push.collapseID {
            request.addHeader("apns-collapse-id", collapseID)
        }
        request.addHeader("apns-expiration", String(push.expiration))
        if let id = push.id {
            request.addHeader("apns-id", id)
        }
        request.body = push.payload
        return client.host.send(request) { [self] response in
            finish(attempt, APNsAnswer(response, now: client.now))
        }
    }

    private func finish(_ attempt: Attempt, _ answer: APNsAnswer) {
        let recipient = Recipient(
            pushType: attempt.type,
            isAtMainOrigin: attempt.environment == client.origins.main,
            isPlaceProven: client.provenPlaces.contains(attempt.environment, .pushes),
            registeredAt: attempt.registeredAt
        )
        switch NextStep(after: answer, for: recipient, attempt.alternatives) {
        case .end(let outcome):
            learn(from: answer, outcome, attempt)
            attempt.ticket.complete(outcome)
        case .newProviderToken: attempt.ticket.complete(client.outcome(ofExpired: attempt.proof))
        case .otherEnvironment(let environment, let alternatives):
            again(attempt, alternatives.push, to: alternatives.token, at: environment, alternatives)
        case .alert(let alert, let alternatives, let isDead):
            if isDead { dispatcher.forget(alert.deadToken, now: client.now) }
            sendAlert(alert, alternatives, attempt, after: answer)
        }
    }

    /// Sends an alert to the device token, instead of a push to a separate token.
    private func sendAlert(
        _ alert: Alternatives.Alert,
        _ alternatives: Alternatives,
        _ attempt: Attempt,
        after answer: APNsAnswer
    ) {
        switch alert.push {
        case .success(let push):
            // The device is in the environment that knows its token, even if dead; otherwise in that of its
            // registration.
            let isElsewhere = alternatives.firstOutcome != nil && answer.status != 410
            let environment = isElsewhere ? attempt.environment.other : attempt.environment
            let next = Alternatives(
                push,
                token: alert.deviceToken,
                device: alternatives.device,
                otherEnvironment: foundEnvironments == nil ? nil : environment.other
            )
            again(attempt, push, to: alert.deviceToken, at: environment, next)
        case .failure(let error):
            attempt.ticket.complete(Outcome(.rejected, status: answer.status, reason: error.rawValue))
        }
    }

    private func again(
        _ attempt: Attempt,
        _ push: Push,
        to token: String,
        at environment: Environment,
        _ alternatives: Alternatives
    ) {
        guard let proof = client.credentials.proof(now: client.now) else {
            attempt.ticket.complete(Outcome(.retry, reason: "no-provider-token"))
            return
        }
        let next = Attempt(
            ticket: attempt.ticket,
            proof: proof,
            type: push.type,
            environment: environment,
            registeredAt: attempt.registeredAt,
            alternatives: alternatives
        )
        let url = urls[environment] + token
        if case .accepted = send(push, HTTPRequest("POST", url: url, options: .multiplex), next) { return }
        attempt.ticket.complete(Outcome(.retry, reason: "not-sent"))
    }

    /// Records what a response reveals about the app's topic and environment, and about the device's environment.
    private func learn(from answer: APNsAnswer, _ outcome: Outcome, _ attempt: Attempt) {
        switch outcome.kind {
        case .delivered:
            if !attempt.type.hasOwnToken {
                client.provenPlaces.insert(attempt.environment, .pushes)
            }
            if let alternatives = attempt.alternatives, alternatives.firstOutcome != nil {
                foundEnvironments?.remember(attempt.environment, of: alternatives.device)
            }
        case .rejected where outcome.isAboutToken && !attempt.type.hasOwnToken:
            client.reportPlace("APNs reported a device of another app or environment: check topic and environment")
        case .misconfigured where answer.reason == .unrelatedKeyIDInToken:
            // Apple binds a connection to one team and key, so this connection is no longer usable.
            client.credentials.leaveConnections(of: attempt.proof)
        default: break
        }
    }
}

extension Outcome {
    /// Whether Apple does not know the token, or knows it for another app.
    fileprivate var isAboutToken: Bool {
        reason == APNsReason.badDeviceToken.label || reason == APNsReason.deviceTokenNotForTopic.label
    }
}

/// The action after a response.
enum NextStep {
    case end(Outcome)
    /// The provider token expired. The outcome depends on its age.
    case newProviderToken
    /// Try the same push in the other environment.
    case otherEnvironment(Environment, Alternatives)
    /// Send an alert to the device. `isDead`: the push's own token is permanently dead; otherwise its state is unknown.
    case alert(Alternatives.Alert, Alternatives, isDead: Bool)

    init(after answer: APNsAnswer, for recipient: Recipient, _ alternatives: Alternatives?) {
        guard case .outcome(let outcome) = answer.decision(for: recipient) else {
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
        // The second environment is a guess: its response counts only if it knows the token to be dead.
        self = .end(alternatives.firstOutcome.flatMap { answer.status == 410 ? nil : $0 } ?? outcome)
    }
}

/// Other sends that a ticket may try if Apple does not know the token of its push.
///
/// Only pushes with alternatives have such an object. The others need no extra memory while in flight.
final class Alternatives: Sendable {
    /// An alert to the device token, instead of a push to a separate token.
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
    /// The other environment to try with the same push.
    let otherEnvironment: Environment?
    let alert: Alert?
    /// The outcome in the first environment, if this is the second.
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

    /// Returns the alternatives that remain after the first environment has responded.
    func elsewhere(after outcome: Outcome) -> Alternatives {
        Alternatives(push, token: token, device: device, otherEnvironment: nil, alert: alert, firstOutcome: outcome)
    }
}
