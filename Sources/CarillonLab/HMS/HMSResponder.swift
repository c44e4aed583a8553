import Cipher

/// Answers requests to the lab's Push Kit and its token endpoint, and records them.
struct HMSResponder: Sendable {
    static let tokenPath = "/oauth2/v3/token"

    let core: LabCore
    /// How long access tokens are valid, in seconds.
    let tokenLifetime: Int

    func decide(_ request: LabRequest) -> HTTP1Conduct {
        request.path == Self.tokenPath ? decideToken(request) : decideMessage(request)
    }

    private func decideToken(_ request: LabRequest) -> HTTP1Conduct {
        let now = core.now()
        var answer: HTTPAnswer
        var conduct: Misbehaviour.Conduct?
        var refusal: OAuthRefusal?
        do throws(OAuthRefusal) {
            let check = HMSTokenCheck(applications: core.withState { $0.hms.applications })
            let appID = try check.check(request)
            conduct = core.conduct(towards: appID, of: .hmsOAuth)
            let token = core.withState { state in
                state.hms.accessTokens.grant(
                    to: appID,
                    lifetime: Int64(tokenLifetime) * 1_000,
                    now: now,
                    random: core.random
                )
            }
            let grant = #"{"access_token":"\#(token)","expires_in":\#(tokenLifetime),"token_type":"Bearer"}"#
            answer = HTTPAnswer(status: 200, json: grant)
        } catch {
            refusal = error
            answer = Self.refused(error)
        }
        answer.replace(by: conduct) { ordered in
            let ordered = OAuthRefusal.ordered(ordered)
            refusal = ordered
            return Self.refused(ordered)
        }
        record(request, .hmsOAuth, "", now, answer, refusal?.error, refusal?.detail, conduct)
        return HTTP1Conduct(answer, misbehaving: conduct)
    }

    /// Huawei's errors are numbers: 1101 for all that the client does wrong.
    private static func refused(_ refusal: OAuthRefusal) -> HTTPAnswer {
        let body = JSONValue.object([
            "error": .integer(1_101), "sub_error": .integer(20_042),
            "error_description": .string(refusal.words ?? refusal.error),
        ])
        return HTTPAnswer(status: refusal.status, json: body.compact)
    }

    private func decideMessage(_ request: LabRequest) -> HTTP1Conduct {
        let now = core.now()
        var answer: HTTPAnswer
        var conduct: Misbehaviour.Conduct?
        var refusal: HMSRefusal?
        do throws(HMSRefusal) {
            let token = try HMSRequestCheck(state: core.withState { $0.hms }).check(request, now: now)
            conduct = core.conduct(towards: token, of: .hms)
            let success = HMSRefusal.Code.success
            answer = HTTPAnswer(status: 200, json: HMSRefusal.json(success.rawValue, success.message))
        } catch {
            refusal = error
            answer = error.answer
        }
        answer.replace(by: conduct) { ordered in
            let ordered = HMSRefusal.ordered(ordered)
            refusal = ordered
            return ordered.answer
        }
        let target = HMSRequestCheck.target(of: request)
        record(request, .hms, target, now, answer, refusal?.code, refusal?.detail, conduct)
        return HTTP1Conduct(answer, misbehaving: conduct)
    }

    private func record(
        _ request: LabRequest,
        _ service: LabService,
        _ target: String,
        _ now: Int64,
        _ answer: HTTPAnswer,
        _ reason: String?,
        _ detail: String?,
        _ conduct: Misbehaviour.Conduct?
    ) {
        core.recorder.add(
            ReceivedRequest(
                request,
                to: service,
                target: target,
                at: now,
                answer,
                reason: reason,
                detail: detail,
                conduct
            )
        )
    }
}
