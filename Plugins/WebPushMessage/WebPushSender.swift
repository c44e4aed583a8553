import Core
package import PluginKit
import Synchronization

/// Signs messages (RFC 8292), sends them to push services and interprets the responses.
///
/// A subscription accepts only messages signed with the key that its app used. If the registration does not name its
/// key, the current key is tried first, then former keys, as long as the push service reports a key mismatch.
package final class WebPushSender: Sendable {
    private let host: Host
    private let ring: VAPIDKeyRing?
    private let signsUnasked: Bool
    private let now: @Sendable () -> Timestamp
    private let origins: Mutex<VAPIDOrigins>
    private let formerKeys = Mutex(FormerKeys())
    private let reports: KeyReports

    /// Makes a sender. `signsUnasked`: whether messages are signed if a registration names no key.
    package init(host: Host, ring: VAPIDKeyRing?, signsUnasked: Bool, now: @escaping @Sendable () -> Timestamp) {
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

    /// Throws if the registration names a key that the operator does not have.
    package func validate(_ registration: borrowing Registration) throws(PluginError) {
        try SigningKey.validate(registration, in: ring)
    }

    package func send(_ message: SignedMessage, _ registration: borrowing Registration, _ ticket: Ticket) -> Acceptance
    {
        let key = SigningKey(registration, in: ring)
        let tokens: [Int]
        switch key {
        case .known(let index): tokens = [index]
        case .unspecified: tokens = signsUnasked ? guesses(for: message.endpoint.url) : []
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
                isKeyNamed: key != .unspecified,
                startedAt: now()
            )
        )
    }

    /// Runs an operator's command. `vapid` prints the public keys; apps subscribe with the current one. `status`
    /// reports them to the router, which passes them to apps.
    package func command(_ words: [String], completion: @escaping @Sendable (CommandAnswer) -> Void) -> Acceptance {
        switch words {
        case ["vapid"]: completion(CommandAnswer(isGood: true, text: describeKeys()))
        case ["status"]: completion(CommandAnswer(isGood: true, text: status))
        case ["help"]:
            completion(
                CommandAnswer(
                    isGood: true,
                    text: "vapid    the public keys that apps subscribe with, the current one first"
                )
            )
        default: return .unsupported
        }
        return .accepted
    }

    private var status: String {
        var status = JSONWriter(reservingBytes: 256)
        status.beginObject()
        if !publicKeys.isEmpty {
            status.key("clients")
            status.beginObject()
            status.key("vapid_public_keys")
            status.beginArray()
            for key in publicKeys { status.string(key) }
            status.endArray()
            status.endObject()
        }
        status.endObject()
        return String(decoding: status.bytes, as: UTF8.self)
    }

    private var publicKeys: [String] { ring?.tokens.map(\.publicKey) ?? [] }

    /// Returns the output of `vapid`: the keys, and whether messages signed with them were accepted.
    private func describeKeys() -> String {
        guard let ring else { return "no VAPID key" }
        return origins.withLock { origins in
            ring.tokens.enumerated().map { index, token in
                let use = index == 0 ? "current" : "former"
                let isProven = origins.isProven(token: index)
                return "\(token.publicKey) \(use), \(isProven ? "messages accepted" : "none accepted") since startup"
            }.joined(separator: "\n")
        }
    }

    /// The order in which keys are tried if a registration does not name its key.
    private func guesses(for url: String) -> [Int] {
        guard let count = ring?.tokens.count else { return [] }
        guard count > 1, let known = formerKeys.withLock({ $0.token(for: url) }) else { return Array(0..<count) }
        return [known] + (0..<count).filter { $0 != known }
    }

    private func start(_ attempt: SendingAttempt) -> Acceptance {
        let endpoint = attempt.message.endpoint
        let now = now()
        // The router retries the message. Then the right key comes first, if it was learned.
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
        if let explanation = answer.explanation, !explanation.isEmpty {
            reports.refused(answer.status, explanation, now: now())
        }
        switch answer.decision {
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
            // The next attempt continues with this key.
            formerKeys.withLock { $0.note(next.tokens[0], for: next.message.endpoint.url) }
            return settle(next, admission)
        }
        attempt.ticket.complete(outcomeOfMismatch(attempt, answer))
    }

    /// Returns the outcome of a key mismatch. A subscription for another key is dead only if the origin accepted a
    /// message signed with ours. Otherwise our key may be wrong, and no device may be lost because of that.
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

    /// Replaces a refused token, if it is old enough, and sends the message again. If that does not help, the message
    /// is dropped. But if one of the big services certainly refuses the token, the message waits until the operator has
    /// fixed the cause. All others to this origin then wait too, unless some were accepted before.
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

    /// Completes the ticket of a message that was accepted earlier but cannot be sent now.
    private func settle(_ attempt: SendingAttempt, _ admission: Acceptance) {
        if case .accepted = admission { return }
        attempt.ticket.complete(Outcome(.retry, reason: "busy"))
    }
}
