import Cipher

/// Answers the pushes and broadcasts of one connection as strictly as APNs, with checks in the same order.
struct APNsResponder: HTTP2Responder {
    private let core: LabCore
    private let peer: HTTP2Peer
    private let streamsAfterAuthorization: Int
    private var authentication: APNsAuthentication
    private var isAuthorized = false

    init(core: LabCore, peer: HTTP2Peer, environment: APNsEnvironment, streamsAfterAuthorization: Int) {
        self.core = core
        self.peer = peer
        self.streamsAfterAuthorization = streamsAfterAuthorization
        authentication = APNsAuthentication(environment)
    }

    private var environment: APNsEnvironment { authentication.environment }

    mutating func begin() -> Int? {
        guard let certificate = peer.certificate, (try? certificate.check(in: environment)) != nil else { return nil }
        isAuthorized = true
        return streamsAfterAuthorization
    }

    mutating func decide(_ request: LabRequest) -> LabDecision {
        let core = core
        let form = APNsForm(request, core.random)
        let wasAuthorized = isAuthorized
        let target = request.bundleIDToBroadcastFor == nil ? request.token : request.header("apns-channel-id") ?? ""
        var decision = core.decide(request, of: environment.service, target: target) { _ throws(APNsError) in
            try check(request)
            var reply = form.success()
            if environment == .sandbox {
                reply.answer.headers.append(LabHeader("apns-unique-id", UUIDText.make(core.random)))
            }
            return reply
        } refuse: {
            form.refusal($0)
        } ordered: {
            form.ordered($0, now: core.now())
        }
        if isAuthorized, !wasAuthorized {
            decision.streamLimit = streamsAfterAuthorization
        }
        return decision
    }

    private mutating func check(_ request: LabRequest) throws(APNsError) {
        let state = core.withState { $0.apns }
        if request.bundleIDToBroadcastFor != nil {
            let broadcast = try APNsBroadcast(checking: request)
            try broadcast.check(request, authenticate(request, state), state, in: environment)
        } else {
            let headers = try APNsHeaders(checking: request, defaultTopic: peer.certificate?.onlyTopic)
            try state.devices.check(request.uri, topic: headers.topic, in: environment)
            try authenticate(request, state).check(headers)
            try APNsPayload.check(request, headers)
        }
    }

    private mutating func authenticate(_ request: LabRequest, _ state: APNsState) throws(APNsError) -> APNsSender {
        let sender = try authentication.check(request, peer.certificate, keys: state.keys, now: core.now())
        isAuthorized = true
        return sender
    }
}

/// Counts requests by `apns-id`, for about the latest 200,000 IDs.
struct APNsIDs: Sendable {
    private static let generation = 100_000

    private var recent: [String: Int] = [:]
    private var older: [String: Int] = [:]

    /// Counts an ID and returns how often it occurred before.
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

/// The headers of a valid request.
struct APNsHeaders {
    /// In canonical form.
    var id: String?
    var topic: String
    var priority: Int
    /// Nil if the sender omitted it.
    var pushType: APNsPushType?

    private static let single = [
        "authorization", "apns-id", "apns-topic", "apns-priority", "apns-push-type", "apns-expiration",
        "apns-collapse-id",
    ]

    /// Checks in APNs' order. `defaultTopic` is the topic of a certificate that has only one.
    init(checking request: LabRequest, defaultTopic: String? = nil) throws(APNsError) {
        try Self.checkDuplicates(request, Self.single)
        id = try Self.id(request.header("apns-id"))
        guard request.method == "POST" else {
            throw APNsError(.methodNotAllowed, "the method is \(request.method), expected POST")
        }
        topic = try Self.topic(request.header("apns-topic") ?? defaultTopic)
        if let collapseID = request.header("apns-collapse-id"), collapseID.utf8.count > 64 {
            throw APNsError(
                .badCollapseID,
                "apns-collapse-id has \(collapseID.utf8.count) bytes, at most 64 are allowed"
            )
        }
        if let expiration = request.header("apns-expiration"), !Self.isUnixTime(expiration) {
            throw APNsError(.badExpirationDate, "apns-expiration is not a number of seconds since 1970")
        }
        priority = try Self.priority(request.header("apns-priority"))
        pushType = try Self.pushType(request.header("apns-push-type"))
    }

    static func checkDuplicates(_ request: LabRequest, _ names: [String]) throws(APNsError) {
        for name in names where request.headers.count(where: { $0.name == name }) > 1 {
            throw APNsError(.duplicateHeaders, "the header \(name) occurs more than once")
        }
    }

    /// The ID of a request. Throws unless it is a canonical UUID in lower case: 8-4-4-4-12.
    static func id(_ text: String?, header: String = "apns-id") throws(APNsError) -> String? {
        guard let text else { return nil }
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isCanonical =
            groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.joined().allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard isCanonical else {
            throw APNsError(.badMessageID, "\(header) is not a UUID in lower case, 8-4-4-4-12")
        }
        return text
    }

    private static func topic(_ text: String?) throws(APNsError) -> String {
        guard let text, !text.isEmpty else { throw APNsError(.missingTopic, "there is no apns-topic") }
        let isWellFormed =
            text.utf8.count <= 255
            && text.consistsOfLettersDigits(and: ".-_")
        guard isWellFormed else { throw APNsError(.badTopic, "apns-topic is not a bundle id") }
        return text
    }

    static func priority(_ text: String?) throws(APNsError) -> Int {
        switch text {
        case nil, "10": return 10
        case "5": return 5
        case "1": return 1
        default: throw APNsError(.badPriority, "apns-priority is not 10, 5 or 1")
        }
    }

    static func pushType(_ text: String?) throws(APNsError) -> APNsPushType? {
        guard let text else { return nil }
        guard let pushType = APNsPushType(rawValue: text) else {
            let known = APNsPushType.allCases.map(\.rawValue).joined(separator: ", ")
            throw APNsError(.invalidPushType, "apns-push-type is not one of \(known)")
        }
        return pushType
    }

    static func isUnixTime(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x30...0x39).contains($0) } && Int64(text) != nil
    }
}

extension LabRequest {
    static let devicePath = "/3/device/"
    private static let broadcastPath = "/4/broadcasts/apps/"
    private static let channelsPath = "/1/apps/"

    /// The part of the path that should be a device token, in lower case.
    var token: String {
        uri.hasPrefix(Self.devicePath) ? uri.dropFirst(Self.devicePath.count).lowercased() : ""
    }

    /// The bundle id of a broadcast; nil for a push to a device.
    var bundleIDToBroadcastFor: String? {
        uri.hasPrefix(Self.broadcastPath) ? String(uri.dropFirst(Self.broadcastPath.count)) : nil
    }

    /// The bundle id and the last part of a path of the channel management; nil for another path.
    var channelsPath: (bundleID: String, collection: String)? {
        guard uri.hasPrefix(Self.channelsPath) else { return nil }
        let parts = uri.dropFirst(Self.channelsPath.count).split(separator: "/", omittingEmptySubsequences: false)
        return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
    }

    var isAboutChannels: Bool { uri.hasPrefix(Self.broadcastPath) || uri.hasPrefix(Self.channelsPath) }
}

/// UUIDs of version 4 (RFC 9562, section 5.4) in lower case.
enum UUIDText {
    static func make(_ random: RandomBytes) -> String {
        var bytes = random(16)
        for index in bytes.indices where index == 6 || index == 8 {
            bytes[index] = index == 6 ? bytes[index] & 0x0f | 0x40 : bytes[index] & 0x3f | 0x80
        }
        let hex = Hex.encode(bytes)
        var groups: [Substring] = []
        var rest = hex[...]
        for length in [8, 4, 4, 4, 12] {
            groups.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        return groups.joined(separator: "-")
    }
}
