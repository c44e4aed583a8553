import Cipher

/// Answers the requests of one connection, and records them.
struct APNsResponder: HTTP2Responder {
    private let core: LabCore
    private let peer: HTTP2Peer
    private let environment: APNsEnvironment
    private let streamsAfterAuthorization: Int
    private var gate: APNsRequestCheck
    private var isAuthorized = false

    init(core: LabCore, peer: HTTP2Peer, environment: APNsEnvironment, streamsAfterAuthorization: Int) {
        self.core = core
        self.peer = peer
        self.environment = environment
        self.streamsAfterAuthorization = streamsAfterAuthorization
        gate = APNsRequestCheck(environment)
    }

    mutating func begin() -> Int? {
        guard let certificate = peer.certificate, (try? certificate.check(in: environment)) != nil else { return nil }
        isAuthorized = true
        return streamsAfterAuthorization
    }

    mutating func decide(_ request: LabRequest) -> HTTP2Decision {
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
            request,
            to: environment.service,
            target: target,
            at: now,
            answer.http,
            reason: answer.reason,
            detail: verdict.refusal?.detail,
            conduct
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

/// Checks the requests of one connection as strictly as APNs, in the same order.
struct APNsRequestCheck {
    private var authentication: APNsAuthentication

    init(_ environment: APNsEnvironment) {
        authentication = APNsAuthentication(environment)
    }

    /// `certificate` is the client's, if there is one. `now` is in milliseconds since 1970. `random` makes missing ids.
    mutating func judge(
        _ request: LabRequest,
        _ certificate: ProviderCertificate?,
        _ state: APNsState,
        now: Int64,
        random: RandomBytes
    ) -> APNsVerdict {
        var verdict = APNsVerdict(request, random)
        do throws(APNsRefusal) {
            if request.bundleIDToBroadcastFor != nil {
                let broadcast = try APNsBroadcast(checking: request)
                let sender = try authenticate(request, certificate, state, now, &verdict)
                try broadcast.check(request, sender, state, in: authentication.environment)
            } else {
                let headers = try APNsHeaders(checking: request, defaultTopic: certificate?.onlyTopic)
                try state.devices.check(request.uri, topic: headers.topic, in: authentication.environment)
                let sender = try authenticate(request, certificate, state, now, &verdict)
                try sender.check(headers)
                try APNsPayload.check(request, headers)
            }
        } catch {
            verdict.refusal = error
        }
        return verdict
    }

    private mutating func authenticate(
        _ request: LabRequest,
        _ certificate: ProviderCertificate?,
        _ state: APNsState,
        _ now: Int64,
        _ verdict: inout APNsVerdict
    ) throws(APNsRefusal) -> APNsSender {
        let sender = try authentication.check(request, certificate, keys: state.keys, now: now)
        verdict.isAuthorized = true
        return sender
    }
}

/// The result of a request's check.
struct APNsVerdict {
    /// The request's id, or a new one.
    var id: String
    /// The `apns-request-id`, or a new one; only for broadcasts and channels.
    var requestID: String?
    /// Nil for success.
    var refusal: APNsRefusal?
    /// Whether the sender was authenticated, even if the request was refused later.
    var isAuthorized = false

    init(_ request: LabRequest, _ random: RandomBytes) {
        id = Self.given(request, "apns-id") ?? UUIDText.make(random)
        if request.isAboutChannels {
            requestID = Self.given(request, "apns-request-id") ?? UUIDText.make(random)
        }
    }

    private static func given(_ request: LabRequest, _ name: String) -> String? {
        (try? APNsHeaders.id(request.header(name), header: name)) ?? nil
    }
}

/// Counts requests by `apns-id`, for the latest 200,000 ids or so.
struct APNsIDs: Sendable {
    private static let generation = 100_000

    private var recent: [String: Int] = [:]
    private var older: [String: Int] = [:]

    /// Counts an id and returns how often it was there before.
    mutating func count(_ id: String) -> Int {
        let before = recent[id] ?? older[id] ?? 0
        recent[id] = before + 1
        if recent.count >= Self.generation {
            older = recent
            recent = [:]
        }
        return before
    }
}
