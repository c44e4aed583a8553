/// Who sends over a connection, once that is proven.
enum APNsSender {
    case key(ProviderKey)
    case certificate(ProviderCertificate)

    /// Whether it may send for a topic, and the topic suits the push type; any does where there is none.
    func check(_ headers: APNsHeaders) throws(APNsRefusal) {
        let pushTypes = headers.pushType.map { [$0] } ?? APNsPushType.allCases
        if pushTypes.contains(where: { topics(of: $0).contains(headers.topic) }) { return }
        guard APNsPushType.allCases.contains(where: { topics(of: $0).contains(headers.topic) }),
            let pushType = headers.pushType
        else { throw APNsRefusal(.topicDisallowed, "the key or certificate may not send for this apns-topic") }
        throw APNsRefusal(
            .badTopic,
            "for push type \(pushType.rawValue), the topic is the bundle id followed by \"\(pushType.topicSuffix)\""
        )
    }

    /// Whether it may send for a bundle id.
    func check(bundleID: String) throws(APNsRefusal) {
        guard topics(of: .alert).contains(bundleID) else {
            throw APNsRefusal(.topicMismatch, "the key or certificate is not one of this bundle id")
        }
    }

    private func topics(of pushType: APNsPushType) -> [String] {
        switch self {
        case .key(let key): key.topics.map { $0 + pushType.topicSuffix }
        case .certificate(let certificate):
            pushType.takesCertificates
                ? certificate.topics.filter { APNsPushType.suffix(of: $0) == pushType.topicSuffix } : []
        }
    }
}
