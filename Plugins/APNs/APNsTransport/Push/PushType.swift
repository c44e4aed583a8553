/// The values of `apns-push-type` that this transport sends ("Sending notification requests to APNs").
enum PushType: String, Sendable, CaseIterable {
    case alert
    case background
    case liveActivity = "liveactivity"
    case voip

    /// What the topic has after the app's bundle id.
    var topicSuffix: String {
        switch self {
        case .alert, .background: ""
        case .liveActivity: ".push-type.liveactivity"
        case .voip: ".voip"
        }
    }

    /// How large a payload may be, in bytes.
    var payloadLimit: Int { self == .voip ? 5120 : 4096 }

    /// How long Apple keeps one that does not say, in milliseconds: a day, but nobody wants to be called for a call that
    /// is over. Apple keeps only the latest one.
    var lifetime: Int64 { self == .voip ? 0 : 86_400_000 }
}
