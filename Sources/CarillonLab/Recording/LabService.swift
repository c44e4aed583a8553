/// A push service that the lab plays.
public enum LabService: String, Sendable, Hashable, Codable, CaseIterable {
    /// Apple's push service, HTTP/2 over TLS.
    case apns
    /// Its twin for development builds.
    case apnsSandbox = "apns_sandbox"
    /// Apple's management of broadcast channels, HTTP/2 over TLS.
    case apnsChannels = "apns_channels"
    /// Firebase Cloud Messaging, HTTP/2 over TLS.
    case fcm
    /// Google's token endpoint, beside ``fcm``.
    case oauth
    /// A UnifiedPush push server in the manner of ntfy, HTTP/1.1.
    case unifiedPush = "unifiedpush"
    /// A browser's push service in the manner of one of several vendors, HTTP/1.1 over TLS.
    case webPush = "webpush"
    /// An ntfy server, HTTP/1.1.
    case ntfy
    /// A Gotify server, HTTP/1.1.
    case gotify
}
