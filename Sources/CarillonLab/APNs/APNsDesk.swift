/// Decides what one connection's requests get, and records it.
struct APNsDesk: HTTP2Desk {
    private let core: LabCore
    private let peer: HTTP2Peer
    private let environment: APNsEnvironment
    private let streamsAfterAuthorization: Int
    private var gate: APNsGate
    private var isAuthorized = false

    init(core: LabCore, peer: HTTP2Peer, environment: APNsEnvironment, streamsAfterAuthorization: Int) {
        self.core = core
        self.peer = peer
        self.environment = environment
        self.streamsAfterAuthorization = streamsAfterAuthorization
        gate = APNsGate(environment)
    }

    mutating func begin() -> Int? {
        guard let certificate = peer.certificate, (try? certificate.check(in: environment)) != nil else { return nil }
        isAuthorized = true
        return streamsAfterAuthorization
    }

    mutating func decide(_ request: HTTP2Request) -> HTTP2Decision {
        let now = core.now()
        let target = request.bundleIDToBroadcastFor == nil ? request.token : request.header("apns-channel-id") ?? ""
        let state = core.withState { $0.apns }
        let verdict = gate.judge(request, peer.certificate, state, now: now, random: core.random)
        let conduct = verdict.refusal == nil ? core.conduct(towards: target, of: environment.service) : nil
        var answer = APNsAnswer(verdict)
        if environment == .sandbox, verdict.refusal == nil {
            answer.http.headers.append(LabHeader("apns-unique-id", UUIDText.make(core.random)))
        }
        answer.misbehave(conduct, verdict, now: now)
        var received = ReceivedRequest(
            service: environment.service,
            receivedAt: now,
            connection: peer.connection,
            method: request.method,
            path: request.path,
            target: target,
            status: conduct?.sendsNoAnswer == true ? nil : answer.http.status,
            reason: answer.reason,
            detail: verdict.refusal?.detail,
            misbehaviour: conduct,
            headers: request.headers,
            body: request.body
        )
        if let id = request.header("apns-id") {
            received.repeats = core.withState { $0.apnsIDs.count(id) }
        }
        core.recorder.add(received)
        var decision = HTTP2Decision(answer: answer.http, conduct: conduct, farewell: APNsAnswer.farewell(conduct))
        if verdict.isAuthorized, !isAuthorized {
            isAuthorized = true
            decision.streamLimit = streamsAfterAuthorization
        }
        return decision
    }
}
