import Cipher
import NIOCore

/// Answers requests to the lab's Web Push service, and records them.
struct WebPushResponder: Sendable {
    private struct Outcome {
        var answer: HTTPAnswer
        var reason: String?
        var detail: String?
        var decrypted: [UInt8]?
    }

    let core: LabCore
    /// Further names of the service's host.
    let names: [String]
    /// The browsers that get what is accepted for them; nil: there are none.
    let browsers: Browsers?
    /// `https://localhost:PORT`, available once the service listens.
    let origin: @Sendable () -> String

    func decide(_ request: LabRequest) -> HTTP1Conduct {
        let now = core.now()
        let endpoint = WebPushEndpoint(request)
        let entry = endpoint.flatMap { endpoint in core.withState { $0.subscriptions.entry(endpoint.id) } }
        let flavour = endpoint?.flavour ?? .apple
        var outcome: Outcome
        var conduct: Misbehaviour.Conduct?
        do throws(WebPushRejection) {
            outcome = try accept(request, endpoint, entry, now: now)
            conduct = core.conduct(towards: endpoint?.id ?? "", of: .webPush)
        } catch {
            let refusal = WebPushRefusal(error, from: flavour)
            outcome = Outcome(answer: refusal.answer, reason: refusal.reason, detail: error.detail)
        }
        var reason = outcome.reason
        outcome.answer.replace(by: conduct) { ordered in
            let refusal = WebPushRefusal(ordered, from: flavour)
            reason = refusal.reason
            return refusal.answer
        }
        var received = ReceivedRequest(
            request,
            to: .webPush,
            target: endpoint?.id ?? "",
            at: now,
            outcome.answer,
            reason: reason,
            detail: outcome.detail,
            conduct
        )
        received.decrypted = outcome.decrypted
        core.recorder.add(received)
        if received.status == 201 { browsers?.push(BrowserMessage(request, to: received.target)) }
        return HTTP1Conduct(outcome.answer, misbehaving: conduct)
    }

    /// Whether a path's last part can be a subscription's id.
    static func isSubscription(_ text: Substring) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.consistsOfLettersDigits(and: "-_")
    }

    private func accept(
        _ request: LabRequest,
        _ endpoint: WebPushEndpoint?,
        _ entry: WebPushSubscriptions.Entry?,
        now: Int64
    ) throws(WebPushRejection) -> Outcome {
        guard let endpoint else { throw WebPushRejection(.badPath, "the path is not one of an endpoint") }
        guard request.method == "POST" else { throw WebPushRejection(.badMethod, "a message is sent by POST") }
        guard let entry, endpoint.flavour == entry.flavour else {
            throw WebPushRejection(.unknownSubscription, "there never was such a subscription")
        }
        guard !entry.isGone else {
            throw WebPushRejection(.goneSubscription, "the browser no longer has this subscription")
        }
        try checkAuthorization(request, entry, now: now)
        let message = try WebPushMessageCheck(request, by: entry.flavour)
        var outcome = Outcome(answer: success(entry.flavour, timeToLive: message.timeToLive))
        guard !request.body.isEmpty else { return outcome }
        // A push service cannot read the body and accepts anything. The record says what the browser would have found.
        do {
            outcome.decrypted = try entry.decryption.open(request.body)
        } catch {
            outcome.detail = "the browser cannot read it: \(error)"
        }
        return outcome
    }

    private func checkAuthorization(
        _ request: LabRequest,
        _ entry: WebPushSubscriptions.Entry,
        now: Int64
    ) throws(WebPushRejection) {
        let authorization = request.header("authorization")
        guard authorization != nil || entry.flavour.alwaysWantsVAPID || entry.applicationServerKey != nil else {
            return
        }
        let check = VAPIDCheck(
            origin: request.origin(or: origin(), named: names),
            now: now / 1_000,
            needsSubject: entry.flavour.wantsSubject
        )
        let publicKey = try check.check(authorization)
        if let wanted = entry.applicationServerKey, wanted != publicKey {
            throw WebPushRejection(.keyMismatch, "the browser subscribed with another key than k")
        }
    }

    private func success(_ flavour: WebPushFlavour, timeToLive: Int64) -> HTTPAnswer {
        var answer = HTTPAnswer(status: 201, contentType: "text/plain", [])
        let resource = Base64URL.encode(core.random(16))
        answer.headers.append(LabHeader("location", "\(origin())/message/\(resource)"))
        answer.headers.append(LabHeader("ttl", String(timeToLive)))
        switch flavour {
        case .apple: answer.headers.append(LabHeader("apns-id", UUIDText.make(core.random)))
        case .wns:
            answer.headers += [
                LabHeader("x-wns-status", "received"), LabHeader("x-wns-notificationstatus", "received"),
                LabHeader("x-wns-deviceconnectionstatus", "connected"),
                LabHeader("x-wns-msg-id", Hex.encode(core.random(8))),
                LabHeader("x-wns-debug-trace", "CARILLON-LAB"),
            ]
        case .mozilla, .fcm, .plain: break
        }
        return answer
    }
}

/// An endpoint's path.
struct WebPushEndpoint {
    var id: String
    var flavour: WebPushFlavour

    /// Nil for any other path.
    init?(_ request: LabRequest) {
        guard let flavour = WebPushFlavour.allCases.first(where: { request.uri.hasPrefix($0.folder) }) else {
            return nil
        }
        let id = request.uri.dropFirst(flavour.folder.count)
        guard WebPushResponder.isSubscription(id) else { return nil }
        self.id = String(id)
        self.flavour = flavour
    }
}
