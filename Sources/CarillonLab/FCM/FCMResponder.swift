import Cipher

/// Answers the requests of one connection to the lab's FCM and its token endpoint, and records them.
struct FCMResponder: HTTP2Responder {
    static let tokenPath = "/token"

    let core: LabCore
    /// How long access tokens are valid, in seconds.
    let tokenLifetime: Int

    mutating func decide(_ request: LabRequest) -> HTTP2Decision {
        request.uri == Self.tokenPath ? decideToken(request) : decideMessage(request)
    }

    private func decideToken(_ request: LabRequest) -> HTTP2Decision {
        let now = core.now()
        var answer: HTTPAnswer
        var conduct: Misbehaviour.Conduct?
        var refusal: OAuthRefusal?
        do throws(OAuthRefusal) {
            let state = core.withState { $0.fcm }
            let gate = TokenRequestCheck(accounts: state.accounts, tokenURL: state.tokenURL)
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
        answer.replace(by: conduct) { ordered in
            let ordered = OAuthRefusal.ordered(ordered)
            refusal = ordered
            return HTTPAnswer(status: ordered.status, json: ordered.json)
        }
        core.recorder.add(
            ReceivedRequest(
                request,
                to: .oauth,
                target: "",
                at: now,
                answer,
                reason: refusal?.error,
                detail: refusal?.detail,
                conduct
            )
        )
        return HTTP2Decision(answer: answer, conduct: conduct)
    }

    private func decideMessage(_ request: LabRequest) -> HTTP2Decision {
        let now = core.now()
        var answer: HTTPAnswer
        var conduct: Misbehaviour.Conduct?
        var refusal: FCMRefusal?
        do throws(FCMRefusal) {
            let passed = try FCMRequestCheck(state: core.withState { $0.fcm }).judge(request, now: now)
            conduct = core.conduct(towards: passed.target, of: .fcm)
            let id = "0:\(now * 1_000)%\(Hex.encode(core.random(8)))"
            let name = "projects/\(passed.projectID)/messages/\(id)"
            answer = HTTPAnswer(status: 200, json: Array(#"{"name":"\#(name)"}"#.utf8))
        } catch {
            refusal = error
            answer = HTTPAnswer(status: error.http, json: error.json)
        }
        answer.replace(by: conduct) { ordered in
            let ordered = FCMRefusal.ordered(ordered, project: FCMRequestCheck.projectID(request.uri) ?? "")
            refusal = ordered
            return HTTPAnswer(status: ordered.http, json: ordered.json)
        }
        core.recorder.add(
            ReceivedRequest(
                request,
                to: .fcm,
                target: FCMRequestCheck.target(of: request),
                at: now,
                answer,
                reason: refusal?.reason,
                detail: refusal?.detail,
                conduct
            )
        )
        return HTTP2Decision(answer: answer, conduct: conduct)
    }
}
