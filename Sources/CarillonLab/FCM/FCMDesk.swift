import Cipher

/// Decides what the requests of one connection to the lab's FCM and its token endpoint get, and records them.
struct FCMDesk: HTTP2Desk {
    static let tokenPath = "/token"

    let core: LabCore
    let peer: HTTP2Peer
    /// Of access tokens, in seconds.
    let tokenLifetime: Int

    mutating func decide(_ request: HTTP2Request) -> HTTP2Decision {
        request.path == Self.tokenPath ? decideToken(request) : decideMessage(request)
    }

    private func decideToken(_ request: HTTP2Request) -> HTTP2Decision {
        let now = core.now()
        var answer: HTTPAnswer
        var conduct: Misbehaviour.Conduct?
        var refusal: OAuthRefusal?
        do throws(OAuthRefusal) {
            let state = core.withState { $0.fcm }
            let gate = TokenGate(accounts: state.accounts, tokenURL: state.tokenURL)
            let account = try gate.check(request, now: now)
            conduct = core.conduct(towards: account.email, of: .oauth)
            let token = core.withState { state in
                state.fcm.accessTokens.grant(
                    to: account,
                    lifetime: Int64(tokenLifetime) * 1_000,
                    now: now,
                    random: core.random
                )
            }
            let grant = #"{"access_token":"\#(token)","expires_in":\#(tokenLifetime - 1),"token_type":"Bearer"}"#
            answer = HTTPAnswer(status: 200, json: Array(grant.utf8))
        } catch {
            refusal = error
            answer = HTTPAnswer(status: error.status, json: error.json)
        }
        if case .answer(let ordered) = conduct, ordered.status >= 300 {
            let ordered = OAuthRefusal.ordered(ordered)
            refusal = ordered
            answer = HTTPAnswer(status: ordered.status, json: ordered.json)
        }
        misbehave(conduct, &answer)
        record(request, .oauth, target: "", answer, refusal?.error, refusal?.detail, conduct, now: now)
        return HTTP2Decision(answer: answer, conduct: conduct)
    }

    private func decideMessage(_ request: HTTP2Request) -> HTTP2Decision {
        let now = core.now()
        var answer: HTTPAnswer
        var conduct: Misbehaviour.Conduct?
        var refusal: FCMRefusal?
        do throws(FCMRefusal) {
            let passed = try FCMGate(state: core.withState { $0.fcm }).judge(request, now: now)
            conduct = core.conduct(towards: passed.target, of: .fcm)
            let id = "0:\(now * 1_000)%\(Hex.encode(core.random(8)))"
            let name = "projects/\(passed.projectID)/messages/\(id)"
            answer = HTTPAnswer(status: 200, json: Array(#"{"name":"\#(name)"}"#.utf8))
        } catch {
            refusal = error
            answer = HTTPAnswer(status: error.http, json: error.json)
        }
        if case .answer(let ordered) = conduct, ordered.status >= 300 {
            let ordered = FCMRefusal.ordered(ordered, project: FCMGate.projectID(request.path) ?? "")
            refusal = ordered
            answer = HTTPAnswer(status: ordered.http, json: ordered.json)
        }
        misbehave(conduct, &answer)
        let target = FCMGate.target(of: request)
        record(request, .fcm, target: target, answer, refusal?.reason, refusal?.detail, conduct, now: now)
        return HTTP2Decision(answer: answer, conduct: conduct)
    }

    private func misbehave(_ conduct: Misbehaviour.Conduct?, _ answer: inout HTTPAnswer) {
        switch conduct {
        case .answer(let ordered): answer.apply(ordered)
        case .html(let status): answer = HTTPAnswer(htmlWithStatus: status)
        default: break
        }
    }

    private func record(
        _ request: HTTP2Request,
        _ service: LabService,
        target: String,
        _ answer: HTTPAnswer,
        _ reason: String?,
        _ detail: String?,
        _ conduct: Misbehaviour.Conduct?,
        now: Int64
    ) {
        core.recorder.add(
            ReceivedRequest(
                service: service,
                receivedAt: now,
                connection: peer.connection,
                method: request.method,
                path: request.path,
                target: target,
                status: conduct?.sendsNoAnswer == true ? nil : answer.status,
                reason: reason,
                detail: detail,
                misbehaviour: conduct,
                headers: request.headers,
                body: request.body
            )
        )
    }
}
