import Cipher
import NIOCore

/// Decides what requests to the lab's Web Push service get, and records it.
struct WebPushDesk: Sendable {
    /// What is in front of a subscription's id in the path of its endpoint.
    static let folder = "/push/"

    private struct Outcome {
        var answer: HTTPAnswer
        var reason: String?
        var detail: String?
        var decrypted: [UInt8]?

        init(_ answer: HTTPAnswer) {
            self.answer = answer
        }

        init(_ refusal: WebPushRefusal) {
            answer = HTTPAnswer(status: refusal.status, json: WebPushRefusal.json(reason: refusal.reason))
            reason = refusal.reason
            detail = refusal.detail
        }
    }

    let core: LabCore
    /// `https://localhost:PORT`, known as soon as the service listens.
    let origin: @Sendable () -> String

    func decide(_ request: HTTP1Request) -> HTTP1Conduct {
        let now = core.now()
        var outcome: Outcome
        var conduct: Misbehaviour.Conduct?
        let id = Self.subscription(of: request) ?? ""
        do throws(WebPushRefusal) {
            outcome = try accept(request, id, now: now)
            conduct = core.conduct(towards: id, of: .webPush)
        } catch {
            outcome = Outcome(error)
        }
        misbehave(conduct, &outcome)
        core.recorder.add(
            ReceivedRequest(
                service: .webPush,
                receivedAt: now,
                connection: request.connection,
                method: request.method,
                path: request.uri,
                target: id,
                status: conduct?.sendsNoAnswer == true ? nil : outcome.answer.status,
                reason: outcome.reason,
                detail: outcome.detail,
                misbehaviour: conduct,
                headers: request.headers,
                body: request.body,
                decrypted: outcome.decrypted
            )
        )
        return HTTP1Conduct(outcome.answer, misbehaving: conduct)
    }

    /// Whether a path's last part can be a subscription's id.
    static func isSubscription(_ text: Substring) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }

    private static func subscription(of request: HTTP1Request) -> String? {
        guard request.uri.hasPrefix(folder) else { return nil }
        let id = request.uri.dropFirst(folder.count)
        return isSubscription(id) ? String(id) : nil
    }

    private func accept(_ request: HTTP1Request, _ id: String, now: Int64) throws(WebPushRefusal) -> Outcome {
        guard !id.isEmpty else { throw WebPushRefusal(404, "BadPath", "the path is not \(Self.folder) and an id") }
        guard request.method == "POST" else {
            throw WebPushRefusal(405, "MethodNotAllowed", "a message is sent by POST")
        }
        let entry = try core.withState { state throws(WebPushRefusal) in try state.subscriptions.entry(id) }
        let check = VAPIDCheck(origin: origin(), now: now / 1_000)
        let publicKey = try check.check(request.header("authorization"))
        if let wanted = entry.applicationServerKey, wanted != publicKey {
            throw WebPushRefusal(400, "VapidPkHashMismatch", "the browser subscribed with another key than k")
        }
        let message = try WebPushMessageCheck(request)
        var answer = HTTPAnswer(status: 201, contentType: "text/plain", [])
        let resource = Base64URL.encode(core.random(16))
        answer.headers.append(LabHeader("location", "\(origin())/message/\(resource)"))
        answer.headers.append(LabHeader("ttl", String(message.timeToLive)))
        var outcome = Outcome(answer)
        guard !request.body.isEmpty else { return outcome }
        // A push service cannot look inside and takes anything; the record says what the browser would have met.
        do {
            outcome.decrypted = try entry.decryption.open(request.body)
        } catch {
            outcome.detail = "the browser cannot read it: \(error)"
        }
        return outcome
    }

    private func misbehave(_ conduct: Misbehaviour.Conduct?, _ outcome: inout Outcome) {
        switch conduct {
        case .answer(let ordered):
            if ordered.status >= 300 {
                let usual = WebPushRefusal.usual(for: ordered.status)
                let decrypted = outcome.decrypted
                outcome = Outcome(WebPushRefusal(ordered.status, ordered.reason ?? usual.reason, outcome.detail))
                outcome.decrypted = decrypted
            }
            outcome.answer.apply(ordered)
        case .html(let status): outcome.answer = HTTPAnswer(htmlWithStatus: status)
        default: break
        }
    }
}
