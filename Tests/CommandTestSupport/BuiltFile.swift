import Foundation
import Synchronization

/// Files that `swift build` put next to the tests.
package enum BuiltFile {
    /// The program that loads plugins.
    package static let pluginHost = path("carillon-plugin-host") ?? "carillon-plugin-host is not beside the tests"

    private static let folders = Mutex<[URL]>([])
    private static let removal: Int32 = atexit {
        for folder in BuiltFile.folders.withLock(\.self) { try? FileManager.default.removeItem(at: folder) }
    }

    /// Returns the path of a file; nil if it has not been built.
    package static func path(_ name: String) -> String? {
        let here = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")).map { [$0] } ?? []
        return (here + CommandLine.arguments)
            .map { URL(filePath: $0).deletingLastPathComponent().appending(path: name).path }
            .first { FileManager.default.fileExists(atPath: $0) }
    }

    /// A folder with copies of files that others cannot write: plugins require that. It stays until the tests end,
    /// because a plugin's process may be restarted.
    package static func folder(of names: [String]) throws -> String {
        let files = FileManager.default
        let folder = files.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "carillon-built-\(UUID().uuidString)")
        try files.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        _ = removal
        folders.withLock { $0.append(folder) }
        for name in names {
            guard let file = path(name) else { throw Missing(name: name) }
            let copy = folder.appending(path: name)
            try files.copyItem(atPath: file, toPath: copy.path)
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
        }
        return folder.path
    }

    /// A file has not been built.
    private struct Missing: Error, CustomStringConvertible {
        let name: String
        var description: String { "\(name) is not beside the tests: run swift build, then the tests again" }
    }
}
