import Cipher

/// The broadcast channels of each app in each environment.
struct APNsChannels: Sendable {
    /// `message-storage-policy` of a channel.
    enum Storage: Int64, Sendable {
        case none = 0
        case latest = 1
    }

    private struct App: Hashable {
        var environment: APNsEnvironment
        var bundleID: String
    }

    /// Apple's limit for an app in an environment.
    private static let limit = 10_000

    private var channels: [App: [String: Storage]] = [:]
    /// Whether the apps have Apple's capability for broadcasts.
    let isEnabled: Bool

    init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    func check() throws(APNsError) {
        guard isEnabled else { throw APNsError(.featureNotEnabled, "the app has no broadcast capability") }
    }

    /// The ids, sorted.
    func list(_ bundleID: String, in environment: APNsEnvironment) -> [String] {
        (channels[App(environment: environment, bundleID: bundleID)] ?? [:]).keys.sorted()
    }

    func storage(of id: String, _ bundleID: String, in environment: APNsEnvironment) throws(APNsError) -> Storage {
        guard let storage = channels[App(environment: environment, bundleID: bundleID)]?[id] else {
            throw APNsError(.channelNotRegistered, "the app has no such channel in \(environment.rawValue)")
        }
        return storage
    }

    mutating func create(
        _ id: String,
        _ storage: Storage,
        _ bundleID: String,
        in environment: APNsEnvironment
    ) throws(APNsError) {
        let app = App(environment: environment, bundleID: bundleID)
        guard channels[app, default: [:]].count < Self.limit else {
            throw APNsError(.cannotCreateChannelConfig, "the app has \(Self.limit) channels already")
        }
        channels[app, default: [:]][id] = storage
    }

    mutating func delete(_ id: String, _ bundleID: String, in environment: APNsEnvironment) throws(APNsError) {
        _ = try storage(of: id, bundleID, in: environment)
        channels[App(environment: environment, bundleID: bundleID)]?[id] = nil
    }

    /// The id in `apns-channel-id`.
    static func id(_ request: LabRequest) throws(APNsError) -> String {
        guard let id = request.header("apns-channel-id"), !id.isEmpty else {
            throw APNsError(.missingChannelID, "there is no apns-channel-id")
        }
        guard let bytes = Base64.decode(id), (1...64).contains(bytes.count) else {
            throw APNsError(.badChannelID, "apns-channel-id is not base64 of up to 64 bytes")
        }
        return id
    }
}

/// The body of a request for a new channel ("Sending channel management requests to APNs").
enum APNsChannelRequest {
    static let pushType = "LiveActivity"

    static func storage(_ request: LabRequest) throws(APNsError) -> APNsChannels.Storage {
        guard !request.body.isEmpty else { throw APNsError(.payloadEmpty, "there is no body") }
        guard !request.isCut, request.body.count <= APNsPushType.alert.payloadLimit else {
            throw APNsError(.payloadTooLarge, "the body is far longer than a channel takes")
        }
        guard let members = JSONValue(parsing: request.body)?.object else {
            throw APNsError(.badRequestPayload, "the body is not a JSON object")
        }
        guard let pushType = members["push-type"] else {
            throw APNsError(.missingPushType, "the body has no push-type")
        }
        guard pushType.string == Self.pushType else {
            throw APNsError(.invalidPushType, "push-type is not \(Self.pushType)")
        }
        guard let policy = members["message-storage-policy"]?.integer,
            let storage = APNsChannels.Storage(rawValue: policy)
        else { throw APNsError(.badRequestParams, "message-storage-policy is neither 0 nor 1") }
        return storage
    }
}

/// A push to all subscribers of a channel ("Sending broadcast push notification requests to APNs").
struct APNsBroadcast {
    static let payloadLimit = 5_120

    private static let single = [
        "authorization", "apns-id", "apns-request-id", "apns-channel-id", "apns-priority", "apns-push-type",
        "apns-expiration",
    ]

    let bundleID: String
    let channel: String
    let priority: Int
    /// Seconds since 1970; 0 for a push that is not stored.
    let expiration: Int64

    /// Checks everything except the sender.
    init(checking request: LabRequest) throws(APNsError) {
        try APNsHeaders.checkDuplicates(request, Self.single)
        _ = try APNsHeaders.id(request.header("apns-id"))
        _ = try APNsHeaders.id(request.header("apns-request-id"), header: "apns-request-id")
        guard request.method == "POST" else {
            throw APNsError(.methodNotAllowed, "the method is \(request.method), expected POST")
        }
        guard let bundleID = request.bundleIDToBroadcastFor, !bundleID.isEmpty, !bundleID.contains("/") else {
            throw APNsError(.badPath, "the path is not /4/broadcasts/apps/ and a bundle id")
        }
        self.bundleID = bundleID
        channel = try APNsChannels.id(request)
        guard let expiration = request.header("apns-expiration"), APNsHeaders.isUnixTime(expiration),
            let seconds = Int64(expiration)
        else {
            throw APNsError(.badExpirationDate, "apns-expiration is missing, or not a number of seconds since 1970")
        }
        self.expiration = seconds
        priority = try APNsHeaders.priority(request.header("apns-priority"))
        guard let pushType = request.header("apns-push-type") else {
            throw APNsError(.missingPushType, "there is no apns-push-type")
        }
        guard pushType == APNsPushType.liveactivity.rawValue else {
            throw APNsError(.invalidPushType, "a broadcast is of push type liveactivity")
        }
    }

    func check(
        _ request: LabRequest,
        _ sender: APNsSender,
        _ state: APNsState,
        in environment: APNsEnvironment
    ) throws(APNsError) {
        try sender.check(bundleID: bundleID)
        try state.channels.check()
        let storage = try state.channels.storage(of: channel, bundleID, in: environment)
        guard storage == .latest || expiration == 0 else {
            throw APNsError(.badExpirationDate, "a channel that stores no message takes apns-expiration 0 only")
        }
        try APNsPayload.check(broadcast: request, limit: Self.payloadLimit, priority: priority)
    }
}

/// Answers requests to the channel management on one connection, and records them.
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

    mutating func decide(_ request: LabRequest) -> LabDecision {
        let form = APNsForm(request, core.random)
        let now = core.now()
        var reply: LabReply
        var misbehaviour: ScriptedBehavior.Action?
        do throws(APNsError) {
            let bundleID = try check(request, now: now)
            misbehaviour = core.misbehaviour(towards: bundleID, of: .apnsChannels)
            // A request with another response was not performed.
            let isDone = misbehaviour.map { $0.answers == nil && !$0.disownsRequest } ?? true
            reply = isDone ? try carryOut(request, bundleID, form) : form.success()
        } catch {
            reply = form.refusal(error)
        }
        let target = request.channelsPath?.bundleID ?? ""
        return core.settle(request, of: .apnsChannels, target, reply, misbehaviour) { form.ordered($0, now: now) }
    }

    /// Authenticates the request and returns its bundle id.
    private mutating func check(_ request: LabRequest, now: Int64) throws(APNsError) -> String {
        try APNsHeaders.checkDuplicates(request, Self.single)
        _ = try APNsHeaders.id(request.header("apns-request-id"), header: "apns-request-id")
        guard let (bundleID, collection) = request.channelsPath, !bundleID.isEmpty else {
            throw APNsError(.badPath, "the path is not /1/apps/, a bundle id and /channels or /all-channels")
        }
        switch (collection, request.method) {
        case ("channels", "POST"), ("channels", "GET"), ("channels", "DELETE"), ("all-channels", "GET"): break
        case ("channels", _), ("all-channels", _):
            throw APNsError(.methodNotAllowed, "\(request.method) is not a method of \(collection)")
        default: throw APNsError(.badPath, "after the bundle id comes channels or all-channels")
        }
        let state = core.withState { $0.apns }
        let sender = try authentication.check(request, peer.certificate, keys: state.keys, now: now)
        try sender.check(bundleID: bundleID)
        try state.channels.check()
        return bundleID
    }

    private func carryOut(_ request: LabRequest, _ bundleID: String, _ form: APNsForm) throws(APNsError) -> LabReply {
        let environment = authentication.environment
        func success(_ members: [String: JSONValue]) -> LabReply {
            var reply = form.success()
            reply.answer.body = Array(JSONValue.object(members).compact.utf8)
            return reply
        }
        if request.channelsPath?.collection == "all-channels" {
            let ids = core.withState { $0.apns.channels.list(bundleID, in: environment) }
            return success(["channels": .array(ids.map(JSONValue.string))])
        }
        switch request.method {
        case "POST":
            let storage = try APNsChannelRequest.storage(request)
            let id = Base64.encode(core.random(16))
            try core.withState { state throws(APNsError) in
                try state.apns.channels.create(id, storage, bundleID, in: environment)
            }
            var reply = form.success(201)
            reply.answer.headers.append(LabHeader("apns-channel-id", id))
            return reply
        case "DELETE":
            let id = try APNsChannels.id(request)
            try core.withState { state throws(APNsError) in
                try state.apns.channels.delete(id, bundleID, in: environment)
            }
            return form.success(204)
        default:
            let id = try APNsChannels.id(request)
            let storage = try core.withState { state throws(APNsError) in
                try state.apns.channels.storage(of: id, bundleID, in: environment)
            }
            return success([
                "message-storage-policy": .integer(storage.rawValue), "push-type": .string(APNsChannelRequest.pushType),
            ])
        }
    }
}
