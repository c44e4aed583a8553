/// The values of `apns-topic` of one app, made once.
struct Topics: Sendable {
    private let bundleID: String
    private let liveActivity: String
    private let voip: String

    init(bundleID: String) {
        self.bundleID = bundleID
        liveActivity = bundleID + PushType.liveActivity.topicSuffix
        voip = bundleID + PushType.voip.topicSuffix
    }

    subscript(type: PushType) -> String {
        switch type {
        case .alert, .background: bundleID
        case .liveActivity: liveActivity
        case .voip: voip
        }
    }
}
