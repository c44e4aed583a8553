import Cipher

/// How Apple knows who sends.
enum Authentication: Sendable {
    /// By provider tokens that a key of the team signs. Both ids are 10 letters and digits, from the developer account.
    case token(teamID: String, keyID: String, key: P256PrivateKey)
    /// By a certificate, which connections present.
    case certificate(ClientIdentity)

    /// Whether that may send pushes of a type for the app: a certificate names the topics that it may send to, Apple answers
    /// location pushes to provider tokens alone, and device management has no other names than certificates.
    func covers(_ type: PushType, ofApp bundleID: String) -> Bool {
        switch self {
        case .token: type != .mdm
        case .certificate(let identity):
            type != .location && identity.certificate.topics.contains(bundleID + type.topicSuffix)
        }
    }
}

extension X509Certificate {
    /// Apple's list of the topics that a certificate may send to.
    private static let topicList = "1.2.840.113635.100.6.3.6"

    /// What a push may have as its topic.
    var topics: [String] {
        var topics = userIDs
        for topic in strings(inExtension: X509Certificate.topicList) where !topics.contains(topic) {
            topics.append(topic)
        }
        return topics
    }
}
