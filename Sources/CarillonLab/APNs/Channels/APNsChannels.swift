import Cipher

/// The broadcast channels of each app in each environment.
struct APNsChannels: Sendable {
    /// `message-storage-policy` of a channel.
    enum Storage: Int64, Sendable {
        case none = 0
        case latest = 1
    }

    private struct App: Hashable {
        var environment: APNsEnvironment
        var bundleID: String
    }

    /// As many as an app may have in an environment.
    private static let limit = 10_000

    private var channels: [App: [String: Storage]] = [:]
    /// Whether the apps have Apple's capability for broadcasts.
    let isEnabled: Bool

    init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    func check() throws(APNsRefusal) {
        guard isEnabled else { throw APNsRefusal(.featureNotEnabled, "the app has no broadcast capability") }
    }

    /// The ids, sorted.
    func list(_ bundleID: String, in environment: APNsEnvironment) -> [String] {
        (channels[App(environment: environment, bundleID: bundleID)] ?? [:]).keys.sorted()
    }

    func storage(of id: String, _ bundleID: String, in environment: APNsEnvironment) throws(APNsRefusal) -> Storage {
        guard let storage = channels[App(environment: environment, bundleID: bundleID)]?[id] else {
            throw APNsRefusal(.channelNotRegistered, "the app has no such channel in \(environment.rawValue)")
        }
        return storage
    }

    mutating func create(
        _ id: String,
        _ storage: Storage,
        _ bundleID: String,
        in environment: APNsEnvironment
    ) throws(APNsRefusal) {
        let app = App(environment: environment, bundleID: bundleID)
        guard channels[app, default: [:]].count < Self.limit else {
            throw APNsRefusal(.cannotCreateChannelConfig, "the app has \(Self.limit) channels already")
        }
        channels[app, default: [:]][id] = storage
    }

    mutating func delete(_ id: String, _ bundleID: String, in environment: APNsEnvironment) throws(APNsRefusal) {
        _ = try storage(of: id, bundleID, in: environment)
        channels[App(environment: environment, bundleID: bundleID)]?[id] = nil
    }

    /// The id in `apns-channel-id`.
    static func id(_ request: HTTP2Request) throws(APNsRefusal) -> String {
        guard let id = request.header("apns-channel-id"), !id.isEmpty else {
            throw APNsRefusal(.missingChannelID, "there is no apns-channel-id")
        }
        guard let bytes = Base64.decode(id), (1...64).contains(bytes.count) else {
            throw APNsRefusal(.badChannelID, "apns-channel-id is not base64 of up to 64 bytes")
        }
        return id
    }
}
