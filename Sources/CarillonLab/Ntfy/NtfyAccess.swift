import Cipher

/// Who may publish to which topics of a server.
struct NtfyAccess: Sendable {
    /// UnifiedPush's topics, which everybody may write to: `up` and 12 more.
    private static let unifiedPushTopicLength = 14

    var allowsAnonymous = true
    /// With the topics each may publish to; nil: all.
    var tokens: [String: Set<String>?] = [:]

    func check(_ request: HTTP1Request, topic: String) throws(NtfyError) {
        guard let authorization = try Self.authorization(of: request) else {
            let isUnifiedPush = topic.hasPrefix("up") && topic.utf8.count == Self.unifiedPushTopicLength
            guard allowsAnonymous || isUnifiedPush else { throw .forbidden }
            return
        }
        let words = authorization.split(separator: " ", maxSplits: 1)
        guard words.count == 2 else { throw .unauthorized }
        switch words[0].lowercased() {
        // Web Push's own (RFC 8292), which is not for ntfy.
        case "vapid", "webpush": return
        case "bearer": try check(token: String(words[1]), topic)
        case "basic":
            guard let bytes = Base64.decode(String(words[1])), let text = String(validating: bytes, as: UTF8.self),
                text.hasPrefix(":")
            else { throw .unauthorized }
            try check(token: String(text.dropFirst()), topic)
        default: throw .unauthorized
        }
    }

    private func check(token: String, _ topic: String) throws(NtfyError) {
        guard let allowed = tokens[token] else { throw .unauthorized }
        guard allowed?.contains(topic) ?? true else { throw .forbidden }
    }

    /// The header, or what `?auth=` has in its place.
    private static func authorization(of request: HTTP1Request) throws(NtfyError) -> String? {
        guard let parameter = request.query["auth"] else { return request.header("authorization") }
        guard let bytes = Base64URL.decode(parameter), let text = String(validating: bytes, as: UTF8.self) else {
            throw .unauthorized
        }
        return text
    }
}
