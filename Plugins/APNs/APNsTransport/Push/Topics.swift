/// The values of `apns-topic` of one app, made once.
struct Topics: Sendable {
    private let topics: [String?]

    /// `covers` says which types may be sent at all.
    init(bundleID: String, covers: (PushType) -> Bool) {
        topics = PushType.allCases.map { covers($0) ? bundleID + $0.topicSuffix : nil }
    }

    /// Nil for what must not be sent.
    subscript(type: PushType) -> String? { topics[type.index] }
}
