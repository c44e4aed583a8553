import Foundation
import Logging
import PluginHost

/// A folder with copies of the plugins that `swift build` made, deleted with this object.
package final class BuiltPlugins: Sendable {
    private static let names = ["APNs", "FCM", "UnifiedPush", "WebPush"].map { "libCarillon\($0).so" }

    private let folder: URL
    private let program: String

    /// Finds the plugins next to this program or its tests. Throws `ChaosError` if they are missing.
    package init() throws {
        folder = FileManager.default.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "carillon-chaos-plugins-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let places = ([here] + CommandLine.arguments.map { URL(filePath: $0) }).map { $0.deletingLastPathComponent() }
        func built(_ name: String) throws -> URL {
            let found = places.map { $0.appending(path: name) }.first {
                FileManager.default.fileExists(atPath: $0.path)
            }
            guard let found else {
                throw ChaosError("\(name) is not beside this program: run swift build first, for all products")
            }
            return found
        }
        program = try built("carillon-plugin-host").path
        for name in Self.names {
            let found = try built(name)
            let copy = folder.appending(path: name)
            try FileManager.default.copyItem(at: found, to: copy)
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }

    func load(_ log: Logger) throws -> PluginHost {
        let host = PluginHost(
            loading: PluginSearch(folders: [folder.path]),
            isolation: IsolationSettings(program: program),
            log: log
        )
        if let refusal = host.catalog.refusals.first {
            throw ChaosError("\(refusal.path) is refused: \(refusal.reason)")
        }
        return host
    }
}
