/// Judges headers and size of a message (RFC 8030, RFC 8291) as one of the services does.
struct WebPushMessageCheck {
    /// In seconds; what is asked for beyond it is cut.
    private static let longestStay: Int64 = 30 * 86_400

    /// How long the service keeps the message, in seconds.
    let timeToLive: Int64

    init(_ request: HTTP1Request, by flavour: WebPushFlavour) throws(WebPushFault) {
        guard !request.isCut, request.body.count <= flavour.bodyLimit else {
            throw WebPushFault(.tooLarge, "the body has more than \(flavour.bodyLimit) bytes")
        }
        timeToLive = min(try Self.timeToLive(request, by: flavour), Self.longestStay)
        if flavour.checksUrgency, let urgency = request.header("urgency"),
            !["very-low", "low", "normal", "high"].contains(urgency)
        {
            throw WebPushFault(.badUrgency, "Urgency is none of very-low, low, normal and high")
        }
        if let topic = request.header("topic"), !Self.isTopic(topic) {
            throw WebPushFault(.badTopic, "Topic is not 1 to 32 characters of base64url")
        }
        guard !request.body.isEmpty else { return }
        guard request.header("content-encoding") == "aes128gcm" else {
            throw WebPushFault(.badEncryption, "there is a body and no Content-Encoding aes128gcm")
        }
        guard request.header("encryption") == nil, request.header("crypto-key") == nil else {
            throw WebPushFault(
                .badEncryption,
                "aes128gcm goes without Encryption and Crypto-Key, which belong to aesgcm"
            )
        }
    }

    private static func timeToLive(
        _ request: HTTP1Request,
        by flavour: WebPushFlavour
    ) throws(WebPushFault) -> Int64 {
        guard let text = request.header("ttl") else { throw WebPushFault(.missingTTL, "there is no TTL") }
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let seconds = Int64(text) else {
            throw WebPushFault(.badTTL, "TTL is not a number of seconds")
        }
        guard seconds > 0 || !flavour.wantsPositiveTTL else { throw WebPushFault(.badTTL, "TTL is not above 0") }
        return seconds
    }

    private static func isTopic(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count) && WebPushDesk.isSubscription(text[...])
    }
}
