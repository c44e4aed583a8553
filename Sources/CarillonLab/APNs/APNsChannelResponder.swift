import Cipher

/// Answers the requests of one connection to the channel management, and records them.
struct APNsChannelResponder: HTTP2Responder {
    private static let single = ["authorization", "apns-request-id", "apns-channel-id"]

    private let core: LabCore
    private let peer: HTTP2Peer
    private var authentication: APNsAuthentication

    init(core: LabCore, peer: HTTP2Peer, environment: APNsEnvironment) {
        self.core = core
        self.peer = peer
        authentication = APNsAuthentication(environment)
    }

    mutating func decide(_ request: LabRequest) -> HTTP2Decision {
        let now = core.now()
        var verdict = APNsVerdict(request, core.random)
        var answer: APNsAnswer
        var conduct: Misbehaviour.Conduct?
        do throws(APNsRefusal) {
            let bundleID = try check(request, now: now)
            conduct = core.conduct(towards: bundleID, of: .apnsChannels)
            // A request with another answer was not performed.
            let isDone = conduct.map { $0.answers == nil && !$0.disownsRequest } ?? true
            answer = isDone ? try carryOut(request, bundleID, verdict) : APNsAnswer(verdict)
        } catch {
            verdict.refusal = error
            answer = APNsAnswer(verdict)
        }
        answer.misbehave(conduct, verdict, now: now)
        core.recorder.add(
            ReceivedRequest(
                request,
                to: .apnsChannels,
                target: request.channelsPath?.bundleID ?? "",
                at: now,
                answer.http,
                reason: answer.reason,
                detail: verdict.refusal?.detail,
                conduct
            )
        )
        return HTTP2Decision(answer: answer.http, conduct: conduct, farewell: APNsAnswer.farewell(conduct))
    }

    /// Authenticates the request and returns its bundle id.
    private mutating func check(_ request: LabRequest, now: Int64) throws(APNsRefusal) -> String {
        try APNsHeaders.checkDuplicates(request, Self.single)
        _ = try APNsHeaders.id(request.header("apns-request-id"), header: "apns-request-id")
        guard let (bundleID, collection) = request.channelsPath, !bundleID.isEmpty else {
            throw APNsRefusal(.badPath, "the path is not /1/apps/, a bundle id and /channels or /all-channels")
        }
        switch (collection, request.method) {
        case ("channels", "POST"), ("channels", "GET"), ("channels", "DELETE"), ("all-channels", "GET"): break
        case ("channels", _), ("all-channels", _):
            throw APNsRefusal(.methodNotAllowed, "\(request.method) is none of the methods of \(collection)")
        default: throw APNsRefusal(.badPath, "after the bundle id comes channels or all-channels")
        }
        let state = core.withState { $0.apns }
        let sender = try authentication.check(request, peer.certificate, keys: state.keys, now: now)
        try sender.check(bundleID: bundleID)
        try state.channels.check()
        return bundleID
    }

    private func carryOut(
        _ request: LabRequest,
        _ bundleID: String,
        _ verdict: APNsVerdict
    ) throws(APNsRefusal) -> APNsAnswer {
        let environment = authentication.environment
        var answer = APNsAnswer(verdict)
        if request.channelsPath?.collection == "all-channels" {
            let ids = core.withState { $0.apns.channels.list(bundleID, in: environment) }
            answer.http.body = Array(JSONValue.object(["channels": .array(ids.map(JSONValue.string))]).compact.utf8)
            return answer
        }
        switch request.method {
        case "POST":
            let storage = try APNsChannelRequest.storage(request)
            let id = Base64.encode(core.random(16))
            try core.withState { state throws(APNsRefusal) in
                try state.apns.channels.create(id, storage, bundleID, in: environment)
            }
            answer.http.status = 201
            answer.http.headers.append(LabHeader("apns-channel-id", id))
        case "DELETE":
            let id = try APNsChannels.id(request)
            try core.withState { state throws(APNsRefusal) in
                try state.apns.channels.delete(id, bundleID, in: environment)
            }
            answer.http.status = 204
        default:
            let id = try APNsChannels.id(request)
            let storage = try core.withState { state throws(APNsRefusal) in
                try state.apns.channels.storage(of: id, bundleID, in: environment)
            }
            let members: [String: JSONValue] = [
                "message-storage-policy": .integer(storage.rawValue), "push-type": .string(APNsChannelRequest.pushType),
            ]
            answer.http.body = Array(JSONValue.object(members).compact.utf8)
        }
        return answer
    }
}
