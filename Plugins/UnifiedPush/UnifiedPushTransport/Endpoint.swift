import PluginKit

/// Where a UnifiedPush distributor takes messages for one app on one device. The URL is the secret.
enum Endpoint {
    /// UnifiedPush AND_3.0.0, in bytes.
    static let limit = 1000

    /// The URL, or nil when it is none that a message may go to.
    static func url(_ token: BorrowedText) -> String? {
        guard (1...limit).contains(token.count) else { return nil }
        let url = token.string
        return HTTPURL(url) == nil ? nil : url
    }
}
