import Foundation
import Logging
import PluginHost
import Testing

/// A folder with copies of the plugins that `swift build` made; gone with it.
final class BuiltPlugins: Sendable {
    static let names = [
        "APNs", "FCM", "Gotify", "HMS", "HTTPTemplate", "Ntfy", "Telegram", "UnifiedPush", "Webhook", "WebPush",
    ]
    .map { "libCarillon\($0).so" }
    static let platforms = [
        "android", "gotify", "hms", "http", "ios", "ntfy", "telegram", "unifiedpush", "web", "webhook",
    ]

    /// Platforms that are no HTTP, so that no request tells what goes out, and their plugins.
    static let overStreams = ["email": "libCarillonEmail.so", "mqtt": "libCarillonMQTT.so"]

    private let folder: URL
    private let platforms: [String]

    /// The folder's absolute path.
    var path: String { folder.path }

    /// `all`: also those over streams.
    init(all: Bool = false) throws {
        platforms = all ? (Self.platforms + Self.overStreams.keys).sorted() : Self.platforms
        folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "carillon-end-to-end-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let places = ([here] + CommandLine.arguments.map { URL(filePath: $0) }).map { $0.deletingLastPathComponent() }
        for name in Self.names + (all ? Self.overStreams.values.sorted() : []) {
            let found = places.map { $0.appending(path: name) }.first {
                FileManager.default.fileExists(atPath: $0.path)
            }
            let file = try #require(found, "\(name) is not beside the tests: run swift build, then the tests again")
            let copy = folder.appending(path: name)
            try FileManager.default.copyItem(at: file, to: copy)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func load() throws -> PluginHost {
        let host = PluginHost(
            loading: PluginSearch(folders: [folder.path], pins: [:]),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try #require(host.catalog.refusals.isEmpty, "\(host.catalog.refusals)")
        try #require(host.platforms == platforms)
        return host
    }
}
