package import PluginKit
import Synchronization

/// Signs messages (RFC 8292), sends them to push services and makes outcomes of the answers.
///
/// A subscription takes messages signed with the key that its app was given, and no other. Where the registration does not say
/// which, the current key is tried first and former ones after it, as long as the push service says that it is another.
package final class WebPushSender: Sendable {
    private let host: Host
    private let ring: VAPIDKeyRing?
    private let signsUnasked: Bool
    private let now: @Sendable () -> Int64
    private let origins: Mutex<VAPIDOrigins>
    private let formerKeys = Mutex(FormerKeys())
    private let reports: KeyReports

    /// `signsUnasked`: whether messages are signed where a registration names no key. `now` is in milliseconds since 1970.
    package init(host: Host, ring: VAPIDKeyRing?, signsUnasked: Bool, now: @escaping @Sendable () -> Int64) {
        self.host = host
        self.ring = ring
        self.signsUnasked = signsUnasked
        self.now = now
        origins = Mutex(VAPIDOrigins(ring?.tokens ?? []))
        reports = KeyReports(host)
        guard let ring, let current = ring.tokens.first else { return }
        host.log(.info, "apps subscribe with the applicationServerKey \(current.publicKey)")
        if let doubt = ring.subject.doubt {
            host.log(.warning, "subject: \(doubt)")
        }
    }

    /// Throws when the registration names a key that we do not hold.
    package func validate(_ registration: borrowing Registration) throws(PluginError) {
        try SigningKey.validate(registration, in: ring)
    }

    /// Sends `message` to where `registration` is.
    package func send(_ message: SignedMessage, _ registration: borrowing Registration, _ ticket: Ticket) -> Admission {
        let key = SigningKey(registration, in: ring)
        let tokens: [Int]
        switch key {
        case .known(let index): tokens = [index]
        case .unsaid: tokens = signsUnasked ? guesses(for: message.endpoint.url) : []
        case .unknown:
            reports.keyUnknown(now: now())
            ticket.complete(Outcome(.rejected, reason: "vapid-key-unknown"))
            return .accepted
        }
        return start(
            SendingAttempt(
                ticket: ticket,
                message: message,
                tokens: tokens,
                first: tokens.first,
                isKeyNamed: key != .unsaid,
                startedAt: now()
            )
        )
    }

    /// What apps may subscribe with, the current key first.
    var publicKeys: [String] { ring?.tokens.map(\.publicKey) ?? [] }

    /// What the operator's command `vapid` answers: the keys, which apps need, and whether they are of use.
    package func describeKeys() -> String {
        guard let ring else { return "no VAPID key" }
        return origins.withLock { origins in
            ring.tokens.enumerated().map { index, token in
                let use = index == 0 ? "current" : "former"
                let isProven = origins.isProven(token: index)
                return "\(token.publicKey) \(use), \(isProven ? "messages taken" : "no message taken") since the start"
            }.joined(separator: "\n")
        }
    }

    /// In the order in which keys are tried where a registration does not name its own.
    private func guesses(for url: String) -> [Int] {
        guard let count = ring?.tokens.count else { return [] }
        guard count > 1, let known = formerKeys.withLock({ $0.token(for: url) }) else { return Array(0..<count) }
        return [known] + (0..<count).filter { $0 != known }
    }

    private func start(_ attempt: SendingAttempt) -> Admission {
        let endpoint = attempt.message.endpoint
        let now = now()
        // The courier sends it again, and the right key comes first then if it is among those that were learned.
        guard let timeout = attempt.timeout(now: now) else { return .busy }
        let authorization: String?
        if let token = attempt.tokens.first {
            authorization = try? origins.withLock { origins in
                try origins.authorization(for: endpoint.origin, token: token, now: now)
            }
            guard authorization != nil else { return .failed }
        } else {
            authorization = nil
        }
        let request = attempt.message.request(authorization: authorization, timeout: timeout)
        return host.send(request) { [self] response in
            finish(attempt, WebPushAnswer(response, of: endpoint.service, now: self.now()), authorization)
        }
    }

    private func finish(_ attempt: SendingAttempt, _ answer: WebPushAnswer, _ authorization: String?) {
        switch answer.verdict {
        case .outcome(let outcome):
            if outcome.kind == .delivered, let token = attempt.tokens.first {
                noteDelivery(attempt, token)
            }
            attempt.ticket.complete(outcome)
        case .keyMismatch: tryNextKey(attempt, answer)
        case .tokenRefused(let reason, let isCertain):
            settleRefusal(attempt, answer, authorization, reason, isCertain: isCertain)
        }
    }

    private func noteDelivery(_ attempt: SendingAttempt, _ token: Int) {
        origins.withLock { $0.prove(attempt.message.endpoint.origin, token: token) }
        if !attempt.isKeyNamed, ring.map({ $0.tokens.count > 1 }) == true {
            formerKeys.withLock { $0.note(token, for: attempt.message.endpoint.url) }
        }
    }

    private func tryNextKey(_ attempt: SendingAttempt, _ answer: WebPushAnswer) {
        if attempt.tokens.count > 1 {
            var next = attempt
            next.tokens.removeFirst()
            next.wasRenewed = false
            let admission = start(next)
            if case .accepted = admission { return }
            // The next attempt goes on with it.
            formerKeys.withLock { $0.note(next.tokens[0], for: next.message.endpoint.url) }
            return settle(next, admission)
        }
        attempt.ticket.complete(outcomeOfMismatch(attempt, answer))
    }

    /// Only where the origin took a message signed with our key a subscription of another is dead; else the key may be the
    /// wrong one, which must not cost the devices.
    private func outcomeOfMismatch(_ attempt: SendingAttempt, _ answer: WebPushAnswer) -> Outcome {
        let origin = attempt.message.endpoint.origin
        let reason = WebPushDetail.keyMismatch.rawValue
        guard let token = attempt.isKeyNamed ? attempt.first : attempt.first.map({ _ in 0 }) else {
            return answer.outcome(.rejected, reason)
        }
        let (isProvenHere, isProvenSomewhere) = origins.withLock { origins in
            (origins.isProven(origin, token: token), origins.isProven(token: token))
        }
        reports.keyMismatch(at: attempt.message.endpoint.service, isKeyProven: isProvenSomewhere, now: now())
        return answer.outcome(isProvenHere ? .gone : .rejected, reason)
    }

    /// A refused token is replaced if it is old enough and the message sent once more. If that does not help, this message is
    /// lost; but where it is certain to be the token, at one of the big services, the message waits until the operator has seen
    /// to it, and all others that go there with it, unless some passed before.
    private func settleRefusal(
        _ attempt: SendingAttempt,
        _ answer: WebPushAnswer,
        _ authorization: String?,
        _ reason: String,
        isCertain: Bool
    ) {
        let endpoint = attempt.message.endpoint
        guard let token = attempt.tokens.first, let authorization else {
            return attempt.ticket.complete(answer.outcome(.rejected, reason))
        }
        let now = now()
        if !attempt.wasRenewed,
            let isRenewed = try? origins.withLock({ origins in
                try origins.renew(endpoint.origin, token: token, refused: authorization, now: now)
            }), isRenewed
        {
            var again = attempt
            again.wasRenewed = true
            return settle(again, start(again))
        }
        reports.tokenRefused(by: endpoint.service, reason, now: now)
        let isProven = origins.withLock { $0.isProven(endpoint.origin, token: token) }
        let waits = isCertain && PushService.isBusy(endpoint.origin)
        attempt.ticket.complete(
            waits ? answer.outcome(.retry, reason, isProven ? .device : .host) : answer.outcome(.rejected, reason)
        )
    }

    /// What was accepted long ago cannot be refused any more.
    private func settle(_ attempt: SendingAttempt, _ admission: Admission) {
        if case .accepted = admission { return }
        attempt.ticket.complete(Outcome(.retry, reason: "busy"))
    }
}
