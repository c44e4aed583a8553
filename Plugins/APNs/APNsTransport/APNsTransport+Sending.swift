import PluginKit

extension APNsTransport {
    /// A push on its way, as far as it decides what its answer means.
    private struct Attempt: Sendable {
        let ticket: Ticket
        let proof: Proof
        let type: PushType
        let environment: Environment
        let registeredAt: UInt64
        let alternatives: Alternatives?
    }

    /// Up to four fit into what the host waits for a delivery: two environments for each of two tokens. In milliseconds.
    private static let timeoutOfOneOfSeveral: UInt32 = 12_000

    /// Starts to send what was decided on.
    func send(
        _ dispatch: consuming Dispatch,
        _ ticket: Ticket,
        _ registration: borrowing Registration,
        now: Int64
    ) -> Admission {
        guard let proof = credentials.proof(now: now) else { return .failed }
        let environment =
            foundEnvironments?.value(of: registration.token) ?? origins.environment(registration.field("environment"))
        let token = dispatch.token ?? registration.token
        let attempt = Attempt(
            ticket: ticket,
            proof: proof,
            type: dispatch.push.type,
            environment: environment,
            registeredAt: registration.registeredAt,
            alternatives: alternatives(to: dispatch, registration, environment)
        )
        let url = deviceURLs[environment]
        return send(dispatch.push, HTTPRequest("POST", url: url, followedBy: token, options: .multiplex), attempt)
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

    private func send(_ push: Push, _ request: consuming HTTPRequest, _ attempt: Attempt) -> Admission {
        request.maxResponseBytes = 4096
        request.connection = attempt.proof.connection
        if attempt.alternatives != nil {
            request.timeout = APNsTransport.timeoutOfOneOfSeveral
        }
        if let authorization = attempt.proof.authorization {
            request.addHeader("authorization", authorization)
        }
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
        return host.send(request) { [self] response in
            finish(attempt, APNsAnswer(response, now: now()))
        }
    }

    private func finish(_ attempt: Attempt, _ answer: APNsAnswer) {
        let recipient = Recipient(
            pushType: attempt.type,
            isAtMainOrigin: attempt.environment == origins.main,
            isPlaceProven: provenPlaces.contains(attempt.environment, .pushes),
            registeredAt: attempt.registeredAt
        )
        switch Step(after: answer, for: recipient, attempt.alternatives) {
        case .end(let outcome):
            learn(from: answer, outcome, attempt)
            attempt.ticket.complete(outcome)
        case .newProviderToken: attempt.ticket.complete(outcome(ofExpired: attempt.proof, now: now()))
        case .elsewhere(let environment, let alternatives):
            again(attempt, alternatives.push, to: alternatives.token, at: environment, alternatives)
        case .alert(let alert, let alternatives, let isDead):
            if isDead { dispatcher.forget(alert.deadToken, now: now()) }
            sendAlert(alert, alternatives, attempt, after: answer)
        }
    }

    /// To the device, in place of a push to a token of its own.
    private func sendAlert(
        _ alert: Alternatives.Alert,
        _ alternatives: Alternatives,
        _ attempt: Attempt,
        after answer: APNsAnswer
    ) {
        switch alert.push {
        case .success(let push):
            // Where a token is known, though dead, the device is; else where it said that it is.
            let isElsewhere = alternatives.firstOutcome != nil && answer.status != 410
            let environment = isElsewhere ? attempt.environment.other : attempt.environment
            let next = Alternatives(
                push,
                token: alert.deviceToken,
                device: alternatives.device,
                otherEnvironment: foundEnvironments == nil ? nil : environment.other
            )
            again(attempt, push, to: alert.deviceToken, at: environment, next)
        case .failure(let mistake):
            attempt.ticket.complete(Outcome(.rejected, status: answer.status, reason: mistake.rawValue))
        }
    }

    private func again(
        _ attempt: Attempt,
        _ push: Push,
        to token: String,
        at environment: Environment,
        _ alternatives: Alternatives
    ) {
        guard let proof = credentials.proof(now: now()) else {
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
        let url = deviceURLs[environment] + token
        if case .accepted = send(push, HTTPRequest("POST", url: url, options: .multiplex), next) { return }
        attempt.ticket.complete(Outcome(.retry, reason: "not-sent"))
    }

    /// What an answer tells of the app's topic and environment, and of where the device is.
    private func learn(from answer: APNsAnswer, _ outcome: Outcome, _ attempt: Attempt) {
        switch outcome.kind {
        case .delivered:
            if !attempt.type.hasOwnToken {
                provenPlaces.insert(attempt.environment, .pushes)
            }
            if let alternatives = attempt.alternatives, alternatives.firstOutcome != nil {
                foundEnvironments?.remember(attempt.environment, of: alternatives.device)
            }
        case .rejected where outcome.isAboutToken && !attempt.type.hasOwnToken:
            reportPlace("APNs says that a device is of another app or environment: check topic and environment")
        case .misconfigured where answer.reason == .unrelatedKeyIDInToken:
            // Apple's connections are of one team and key each: this one is of no use to us any more.
            credentials.leaveConnections(of: attempt.proof)
        default: break
        }
    }
}

extension Outcome {
    /// What Apple says of a token that it knows nothing of, or of another app.
    fileprivate var isAboutToken: Bool {
        reason == APNsReason.badDeviceToken.label || reason == APNsReason.deviceTokenNotForTopic.label
    }
}
