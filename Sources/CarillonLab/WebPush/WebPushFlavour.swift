/// The push service of a subscription: its rules, its paths, and the form of its refusals.
public enum WebPushFlavour: String, Sendable, Hashable, Codable, CaseIterable {
    /// `updates.push.services.mozilla.com`: `{"code":401,"errno":109,…}`.
    case mozilla
    /// `web.push.apple.com`: `{"reason":"BadJwtToken"}`.
    case apple
    /// `*.notify.windows.com`: answers in headers.
    case wns
    /// `fcm.googleapis.com`: a sentence.
    case fcm
    /// RFC 8030 and no more: a status without a body.
    case plain

    /// The path of endpoints, without the subscription's id.
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

    init(_ request: LabRequest, by flavour: WebPushFlavour) throws(WebPushRejection) {
        guard !request.isCut, request.body.count <= flavour.bodyLimit else {
            throw WebPushRejection(.tooLarge, "the body has more than \(flavour.bodyLimit) bytes")
        }
        timeToLive = min(try Self.timeToLive(request, by: flavour), Self.longestStay)
        if flavour.checksUrgency, let urgency = request.header("urgency"),
            !["very-low", "low", "normal", "high"].contains(urgency)
        {
            throw WebPushRejection(.badUrgency, "Urgency is none of very-low, low, normal and high")
        }
        if let topic = request.header("topic"), !Self.isTopic(topic) {
            throw WebPushRejection(.badTopic, "Topic is not 1 to 32 characters of base64url")
        }
        guard !request.body.isEmpty else { return }
        guard request.header("content-encoding") == "aes128gcm" else {
            throw WebPushRejection(.badEncryption, "there is a body and no Content-Encoding aes128gcm")
        }
        guard request.header("encryption") == nil, request.header("crypto-key") == nil else {
            throw WebPushRejection(
                .badEncryption,
                "aes128gcm goes without Encryption and Crypto-Key, which belong to aesgcm"
            )
        }
    }

    private static func timeToLive(
        _ request: LabRequest,
        by flavour: WebPushFlavour
    ) throws(WebPushRejection) -> Int64 {
        guard let text = request.header("ttl") else { throw WebPushRejection(.missingTTL, "there is no TTL") }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text) else {
            throw WebPushRejection(.badTTL, "TTL is not a number of seconds")
        }
        guard seconds > 0 || !flavour.wantsPositiveTTL else { throw WebPushRejection(.badTTL, "TTL is not above 0") }
        return seconds
    }

    private static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count) && WebPushResponder.isSubscription(text[...])
    }
}
