import Foundation
import Logging
import PluginHost
import Testing

/// The plugins that `swift build` made, loaded once for all tables.
enum BuiltPlugins {
    private static let names = ["APNs", "FCM", "Gotify", "Ntfy", "UnifiedPush", "WebPush"].map { "libCarillon\($0).so" }
    private static let loaded = Result { try load() }

    static func host() throws -> PluginHost { try loaded.get() }

    /// A library is refused where others may write, so it is copied to a folder of our own; once it is loaded, its file may go.
    private static func load() throws -> PluginHost {
        let files = FileManager.default
        let folder = files.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "carillon-status-\(UUID().uuidString)")
        try files.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        defer { try? files.removeItem(at: folder) }
        let here = URL(filePath: try files.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let places = ([here] + CommandLine.arguments.map { URL(filePath: $0) }).map { $0.deletingLastPathComponent() }
        for name in names {
            let found = places.map { $0.appending(path: name) }.first { files.fileExists(atPath: $0.path) }
            let file = try #require(found, "\(name) is not beside the tests: run swift build, then the tests again")
            let copy = folder.appending(path: name)
            try files.copyItem(at: file, to: copy)
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
        }
        let host = PluginHost(
            loading: PluginSearch(folders: [folder.path], pins: [:]),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try #require(host.catalog.refusals.isEmpty, "\(host.catalog.refusals)")
        return host
    }
}
