/// Decides what one connection's requests get, and records it.
struct APNsDesk: HTTP2Desk {
    private let core: LabCore
    private let connection: Int
    private let streamsAfterAuthorization: Int
    private var gate: APNsGate
    private var isAuthorized = false

    init(core: LabCore, connection: Int, streamsAfterAuthorization: Int) {
        self.core = core
        self.connection = connection
        self.streamsAfterAuthorization = streamsAfterAuthorization
        gate = APNsGate(keys: core.providerKeys)
    }

    mutating func decide(_ request: HTTP2Request) -> HTTP2Decision {
        let now = core.now()
        let devices = core.withState { $0.devices }
        let verdict = gate.judge(request, devices: devices, now: now, random: core.random)
        var conduct: Misbehaviour.Conduct?
        if verdict.refusal == nil {
            conduct = core.conduct(towards: request.token, of: .apns)
        }
        let answer = Self.answer(verdict, conduct, now: now)
        core.recorder.add(
            ReceivedRequest(
                service: .apns,
                receivedAt: now,
                connection: connection,
                method: request.method,
                path: request.path,
                target: request.token,
                status: conduct?.sendsNoAnswer == true ? nil : answer.http.status,
                reason: answer.reason,
                detail: verdict.refusal?.detail,
                misbehaviour: conduct,
                headers: request.headers,
                body: request.body
            )
        )
        var decision = HTTP2Decision(answer: answer.http, conduct: conduct)
        if verdict.isAuthorized, !isAuthorized {
            isAuthorized = true
            decision.streamLimit = streamsAfterAuthorization
        }
        if case .goAway(_, let reason?, code: _) = conduct {
            decision.farewell = APNsAnswer.reasonBody(reason)
        }
        return decision
    }

    private static func answer(_ verdict: APNsVerdict, _ conduct: Misbehaviour.Conduct?, now: Int64) -> APNsAnswer {
        switch conduct {
        case .answer(let ordered): return APNsAnswer(ordered, id: verdict.id, now: now)
        case .html(let status): return APNsAnswer(htmlWithStatus: status)
        default: return APNsAnswer(verdict)
        }
    }
}
