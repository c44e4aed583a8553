import CommandTestSupport
import Logging
import PluginHost
import Testing

/// The plugins that `swift build` made, in a separate folder, loaded once for all tests.
struct BuiltPlugins: Sendable {
    static let names = [
        "APNs", "FCM", "Gotify", "HTTPTemplate", "Ntfy", "Telegram", "UnifiedPush", "Webhook", "WebPush",
    ]
    .map { "libCarillon\($0).so" }
    static let platforms = [
        "android", "gotify", "http", "ios", "ntfy", "telegram", "unifiedpush", "web", "webhook",
    ]

    /// Platforms without HTTP, whose sent bytes no request shows, and their plugins.
    static let overStreams = ["email": "libCarillonEmail.so", "mqtt": "libCarillonMQTT.so"]

    private static let usual = Result { try BuiltPlugins(names, serving: platforms) }
    private static let whole = Result {
        try BuiltPlugins(names + overStreams.values.sorted(), serving: (platforms + overStreams.keys).sorted())
    }

    /// The folder's absolute path.
    let path: String
    private let host: PluginHost

    /// `all` includes those over streams.
    init(all: Bool = false) throws { self = try (all ? Self.whole : Self.usual).get() }

    private init(_ names: [String], serving platforms: [String]) throws {
        path = try BuiltFile.folder(of: names)
        host = PluginHost(
            loading: PluginSearch(folders: [path]),
            isolation: IsolationSettings(program: BuiltFile.pluginHost),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try #require(host.catalog.refusals.isEmpty, "\(host.catalog.refusals)")
        try #require(host.platforms == platforms)
    }

    /// Returns the host with the plugins, which all tests share.
    func load() throws -> PluginHost { host }
}
