import Cipher

/// Checks the requests of one connection as strictly as APNs does, in its order.
struct APNsGate {
    private var providerTokens: ProviderTokenCheck

    init(keys: [ProviderKey]) {
        providerTokens = ProviderTokenCheck(keys: keys)
    }

    /// `now` in milliseconds since 1970; `random` gives the id of a request that brought none.
    mutating func judge(
        _ request: HTTP2Request,
        devices: APNsDevices,
        now: Int64,
        random: RandomBytes
    ) -> APNsVerdict {
        let given = (try? APNsHeaders.id(request.header("apns-id"))) ?? nil
        var verdict = APNsVerdict(id: given ?? Self.uuid(random(16)), refusal: nil, isAuthorized: false)
        do throws(APNsRefusal) {
            let headers = try APNsHeaders(checking: request)
            try devices.check(request.path, topic: headers.topic)
            let key = try providerTokens.check(request.header("authorization"), now: now)
            verdict.isAuthorized = true
            try Self.check(headers, topics: key.topics)
            try APNsPayload.check(request, headers)
        } catch {
            verdict.refusal = error
        }
        return verdict
    }

    private static func check(_ headers: APNsHeaders, topics: Set<String>) throws(APNsRefusal) {
        if let pushType = headers.pushType, topics.contains(where: { headers.topic == $0 + pushType.topicSuffix }) {
            return
        }
        let isKnown = topics.contains { bundle in
            APNsPushType.allCases.contains { headers.topic == bundle + $0.topicSuffix }
        }
        guard isKnown else { throw APNsRefusal(.topicDisallowed, "the key may not send for this apns-topic") }
        if let pushType = headers.pushType {
            throw APNsRefusal(
                .badTopic,
                "for push type \(pushType.rawValue), the topic is the bundle id followed by \"\(pushType.topicSuffix)\""
            )
        }
    }

    /// A UUID of version 4 (RFC 9562, section 5.4).
    private static func uuid(_ bytes: [UInt8]) -> String {
        var bytes = bytes
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
