import Cipher

/// Answers requests to the lab's Web Push service, and records them.
struct WebPushResponder: Sendable {
    let core: LabCore
    /// More names of the service's host.
    let names: [String]
    /// The browsers that receive accepted messages; nil: there are none.
    let browsers: Browsers?
    /// `https://localhost:PORT`, available once the service listens.
    let origin: @Sendable () -> String

    func decide(_ request: LabRequest) -> HTTP1Step {
        let endpoint = WebPushEndpoint(request)
        let flavour = endpoint?.flavour ?? .apple
        let target = endpoint?.id ?? ""
        let decision = core.decide(request, of: .webPush, target: target) { _ throws(WebPushError) in
            try accept(request, endpoint)
        } refuse: { rejection in
            var reply = flavour.refusal(rejection.kind)
            reply.detail = rejection.detail
            return reply
        } ordered: {
            flavour.ordered($0)
        }
        if decision.status == 201 { browsers?.push(BrowserMessage(request, to: target)) }
        return HTTP1Step(decision)
    }

    /// Whether a path's last part can be a subscription's ID.
    static func isSubscription(_ text: Substring) -> Bool {
        (1...128).contains(text.utf8.count)
            && text.consistsOfLettersDigits(and: "-_")
    }

    private func accept(_ request: LabRequest, _ endpoint: WebPushEndpoint?) throws(WebPushError) -> LabReply {
        guard let endpoint else { throw WebPushError(.badPath, "the path is not one of an endpoint") }
        guard request.method == "POST" else { throw WebPushError(.badMethod, "a message is sent by POST") }
        let entry = core.withState { $0.subscriptions.entry(endpoint.id) }
        guard let entry, endpoint.flavour == entry.flavour else {
            throw WebPushError(.unknownSubscription, "there never was such a subscription")
        }
        guard !entry.isGone else {
            throw WebPushError(.goneSubscription, "the browser no longer has this subscription")
        }
        try checkAuthorization(request, entry)
        let message = try WebPushMessageCheck(request, by: entry.flavour)
        var reply = LabReply(answer: success(entry.flavour, timeToLive: message.timeToLive))
        guard !request.body.isEmpty else { return reply }
        // A push service cannot read the body and accepts anything. The record shows the browser's result.
        do {
            reply.decrypted = try entry.decryption.open(request.body)
        } catch {
            reply.detail = "the browser cannot read it: \(error)"
        }
        return reply
    }

    private func checkAuthorization(
        _ request: LabRequest,
        _ entry: WebPushSubscriptions.Entry
    ) throws(WebPushError) {
        let authorization = request.header("authorization")
        guard authorization != nil || entry.flavour.alwaysWantsVAPID || entry.applicationServerKey != nil else {
            return
        }
        let check = VAPIDCheck(
            origin: request.origin(or: origin(), named: names),
            now: core.now() / 1_000,
            needsSubject: entry.flavour.wantsSubject
        )
        let publicKey = try check.check(authorization)
        if let wanted = entry.applicationServerKey, wanted != publicKey {
            throw WebPushError(.keyMismatch, "the browser subscribed with another key than k")
        }
    }

    private func success(_ flavour: WebPushFlavour, timeToLive: Int64) -> HTTPAnswer {
        var answer = HTTPAnswer(status: 201, contentType: "text/plain", [])
        let resource = Base64URL.encode(core.random(16))
        answer.headers.append(LabHeader("location", "\(origin())/message/\(resource)"))
        answer.headers.append(LabHeader("ttl", String(timeToLive)))
        switch flavour {
        case .apple: answer.headers.append(LabHeader("apns-id", UUIDText.make(core.random)))
        case .wns:
            answer.headers += [
                LabHeader("x-wns-status", "received"), LabHeader("x-wns-notificationstatus", "received"),
                LabHeader("x-wns-deviceconnectionstatus", "connected"),
                LabHeader("x-wns-msg-id", Hex.encode(core.random(8))),
                LabHeader("x-wns-debug-trace", "CARILLON-LAB"),
            ]
        case .mozilla, .fcm, .plain: break
        }
        return answer
    }
}

/// An endpoint's path.
struct WebPushEndpoint {
    var id: String
    var flavour: WebPushFlavour

    /// Nil for any other path.
    init?(_ request: LabRequest) {
        guard let flavour = WebPushFlavour.allCases.first(where: { request.uri.hasPrefix($0.folder) }) else {
            return nil
        }
        let id = request.uri.dropFirst(flavour.folder.count)
        guard WebPushResponder.isSubscription(id) else { return nil }
        self.id = String(id)
        self.flavour = flavour
    }
}

/// The push service of a subscription: its rules, its paths, and the format of its refusals.
public enum WebPushFlavour: String, Sendable, Hashable, Codable, CaseIterable {
    /// `updates.push.services.mozilla.com`: `{"code":401,"errno":109,…}`.
    case mozilla
    /// `web.push.apple.com`: `{"reason":"BadJwtToken"}`.
    case apple
    /// `*.notify.windows.com`: errors in headers.
    case wns
    /// `fcm.googleapis.com`: a sentence.
    case fcm
    /// Only RFC 8030: a status without a body.
    case plain

    /// The path of endpoints, without the subscription's ID.
    var folder: String {
        switch self {
        case .mozilla: "/wpush/v2/"
        case .apple: "/push/"
        case .plain: "/plain/"
        case .wns: "/w/?token="
        case .fcm: "/fcm/send/"
        }
    }

    /// In bytes.
    var bodyLimit: Int { self == .wns ? 5_000 : 4_096 }

    /// Whether TTL 0 is refused.
    var wantsPositiveTTL: Bool { self == .apple }

    /// Whether VAPID is required even if the subscription has no key.
    var alwaysWantsVAPID: Bool { self == .apple || self == .fcm || self == .wns }

    /// Whether the token must name a contact.
    var wantsSubject: Bool { self == .apple }

    /// Whether Urgency must be one of the RFC's words. Mozilla's service does not check it.
    var checksUrgency: Bool { self != .mozilla }
}

/// Checks headers and size of a message (RFC 8030, RFC 8291) as one of the services does.
struct WebPushMessageCheck {
    /// The longest time to live, in seconds.
    private static let longestStay: Int64 = 30 * 86_400

    /// How long the service keeps the message, in seconds.
    let timeToLive: Int64

    init(_ request: LabRequest, by flavour: WebPushFlavour) throws(WebPushError) {
        guard !request.isCut, request.body.count <= flavour.bodyLimit else {
            throw WebPushError(.tooLarge, "the body has more than \(flavour.bodyLimit) bytes")
        }
        timeToLive = min(try Self.timeToLive(request, by: flavour), Self.longestStay)
        if flavour.checksUrgency, let urgency = request.header("urgency"),
            !["very-low", "low", "normal", "high"].contains(urgency)
        {
            throw WebPushError(.badUrgency, "Urgency is none of very-low, low, normal and high")
        }
        if let topic = request.header("topic"), !Self.isTopic(topic) {
            throw WebPushError(.badTopic, "Topic is not 1 to 32 characters of base64url")
        }
        guard !request.body.isEmpty else { return }
        guard request.header("content-encoding") == "aes128gcm" else {
            throw WebPushError(.badEncryption, "there is a body and no Content-Encoding aes128gcm")
        }
        guard request.header("encryption") == nil, request.header("crypto-key") == nil else {
            throw WebPushError(
                .badEncryption,
                "aes128gcm goes without Encryption and Crypto-Key, which belong to aesgcm"
            )
        }
    }

    private static func timeToLive(
        _ request: LabRequest,
        by flavour: WebPushFlavour
    ) throws(WebPushError) -> Int64 {
        guard let text = request.header("ttl") else { throw WebPushError(.missingTTL, "there is no TTL") }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text) else {
            throw WebPushError(.badTTL, "TTL is not a number of seconds")
        }
        guard seconds > 0 || !flavour.wantsPositiveTTL else { throw WebPushError(.badTTL, "TTL is not above 0") }
        return seconds
    }

    private static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count) && WebPushResponder.isSubscription(text[...])
    }
}
