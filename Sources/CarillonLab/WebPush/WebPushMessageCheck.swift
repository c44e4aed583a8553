/// Judges headers and size of a message (RFC 8030, RFC 8291) as Apple does.
struct WebPushMessageCheck {
    private static let bodyLimit = 4096
    /// In seconds; what is asked for beyond it is cut.
    private static let longestStay: Int64 = 30 * 86_400

    /// How long the service keeps the message, in seconds.
    let timeToLive: Int64

    init(_ request: HTTP1Request) throws(WebPushRefusal) {
        guard !request.isCut, request.body.count <= Self.bodyLimit else {
            throw WebPushRefusal(413, "PayloadTooLarge", "the body has more than \(Self.bodyLimit) bytes")
        }
        guard let text = request.header("ttl"), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let seconds = Int64(text), seconds > 0
        else { throw WebPushRefusal(400, "BadTtl", "TTL is not a number of seconds above 0") }
        timeToLive = min(seconds, Self.longestStay)
        if let urgency = request.header("urgency"), !["very-low", "low", "normal", "high"].contains(urgency) {
            throw WebPushRefusal(400, "BadUrgency", "Urgency is none of very-low, low, normal and high")
        }
        if let topic = request.header("topic"), !Self.isTopic(topic) {
            throw WebPushRefusal(400, "BadWebPushTopic", "Topic is not 1 to 32 characters of base64url")
        }
        guard !request.body.isEmpty else { return }
        guard request.header("content-encoding") == "aes128gcm" else {
            throw .badRequest("there is a body and no Content-Encoding aes128gcm")
        }
        guard request.header("encryption") == nil, request.header("crypto-key") == nil else {
            throw .badRequest("aes128gcm goes without Encryption and Crypto-Key, which belong to aesgcm")
        }
    }

    private static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count) && WebPushDesk.isSubscription(text[...])
    }
}
