/// A message on its way to a topic, with what ntfy makes of its headers.
struct NtfyPublication {
    static let messageLimit = 4_096
    private static let reserved: Set<String> = [
        "docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1",
    ]

    var topic: String
    /// As far as ntfy keeps it.
    var body: [UInt8]
    /// UnifiedPush mode: kept as it is, text or not.
    var isUnifiedPush: Bool
    /// The body has RFC 8188's encoding.
    var isEncrypted: Bool

    init(checking request: HTTP1Request, oversize: LabConfiguration.UnifiedPush.Oversize) throws(NtfyError) {
        topic = try Self.topic(of: request)
        guard request.method == "POST" || request.method == "PUT" else { throw .notFound }
        isEncrypted = request.header("content-encoding")?.lowercased() == "aes128gcm"
        isUnifiedPush = isEncrypted || Self.asksForUnifiedPush(request)
        body = request.body
        if body.count > Self.messageLimit {
            guard oversize == .cut, isUnifiedPush else { throw .tooLarge }
            body = Array(body.prefix(Self.messageLimit))
        }
        guard isUnifiedPush || String(validating: body, as: UTF8.self) != nil else { throw .notUTF8 }
    }

    /// The topic a path names.
    static func topic(of request: HTTP1Request) throws(NtfyError) -> String {
        let topic = String(request.path.dropFirst())
        let isWellFormed =
            (1...64).contains(topic.utf8.count)
            && topic.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
        guard isWellFormed else { throw .notFound }
        guard !reserved.contains(topic) else { throw .topicNotAllowed }
        return topic
    }

    static func asksForUnifiedPush(_ request: HTTP1Request) -> Bool {
        let parameters = request.query
        let values = [
            parameters["up"], parameters["unifiedpush"], parameters["x-unifiedpush"], request.header("up"),
            request.header("unifiedpush"), request.header("x-unifiedpush"),
        ]
        let value = values.compactMap { $0 }.first?.lowercased()
        return value == "1" || value == "yes" || value == "true"
    }
}
