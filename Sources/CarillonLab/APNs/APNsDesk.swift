/// Decides what one connection's requests get, and records it.
struct APNsDesk {
    /// What to do with a request.
    struct Decision {
        /// What it earned, or what a misbehaviour put in its place.
        var answer: APNsAnswer
        /// What else is to happen to it.
        var conduct: Misbehaviour.Conduct?
        var isAuthorized: Bool
    }

    private let core: LabCore
    private let connection: Int
    private var gate: APNsGate

    init(core: LabCore, connection: Int) {
        self.core = core
        self.connection = connection
        gate = APNsGate(keys: core.providerKeys)
    }

    mutating func decide(_ request: APNsRequest) -> Decision {
        let now = core.now()
        let devices = core.withState { $0.devices }
        let verdict = gate.judge(request, devices: devices, now: now, random: core.random)
        var conduct: Misbehaviour.Conduct?
        if verdict.refusal == nil {
            conduct = core.withState { $0.script.next(.apns, request.token) }
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
                status: conduct?.sendsNoAnswer == true ? nil : answer.status,
                reason: answer.reason,
                detail: verdict.refusal?.detail,
                misbehaviour: conduct,
                headers: request.headers,
                body: request.body
            )
        )
        return Decision(answer: answer, conduct: conduct, isAuthorized: verdict.isAuthorized)
    }

    private static func answer(_ verdict: APNsVerdict, _ conduct: Misbehaviour.Conduct?, now: Int64) -> APNsAnswer {
        switch conduct {
        case .answer(let status, let reason, let retryAfter):
            let reason = status < 300 ? nil : reason ?? APNsReason.usual(for: status)?.rawValue ?? "InternalServerError"
            return APNsAnswer(
                status: status,
                reason: reason,
                timestamp: status == 410 ? now : nil,
                id: verdict.id,
                retryAfter: retryAfter
            )
        case .html(let status):
            return APNsAnswer(htmlWithStatus: status)
        default:
            return APNsAnswer(verdict)
        }
    }
}
