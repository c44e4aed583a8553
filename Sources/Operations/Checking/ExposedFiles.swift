import Cipher
import Foundation
import Glibc
import RouterConfiguration
import Telemetry
import YAMLReading

/// Files with secrets that others can get at, although nothing is refused for it: keys of push services, and databases,
/// whose tokens are sealed but which tell who is registered; and folders of such files that anybody may fill.
package struct ExposedFiles {
    package struct Found: Hashable {
        /// The key in the configuration that names the file.
        package let key: String
        /// From 1; 0 where the file does not come from one.
        let line: Int
        package let path: String
        package let exposure: FileExposure
        /// Whether it is a folder with such files in it, where others could put their own.
        package var isFolder = false

        package var remedy: String { isFolder ? "chmod o-w \(path)" : exposure.remedy(for: path) }
    }

    /// SQLite's files beside a database.
    private static let companions = ["", "-wal", "-shm"]

    package private(set) var found: [Found] = []

    package init(_ configuration: Configuration) {
        for (app, block) in configuration.apps.sorted(by: { $0.key < $1.key }) {
            for (platform, block) in block.platforms.sorted(by: { $0.key < $1.key }) {
                for file in PathsInBlock.files(in: block.json) {
                    add(file.path, "apps.\(app).\(platform).\(file.key)", line: block.line)
                }
            }
        }
        if let headers = configuration.tracing?.headersFile {
            add(headers, "tracing.headers_file", line: configuration.tracingPlace.line)
        }
        for webhook in configuration.operationalEvents?.webhooks ?? [] {
            add(webhook.secretFile, "operational_events.webhooks.secret_file", line: 0)
        }
        for path in [
            configuration.storePath, configuration.outboxPath, configuration.contextPath, configuration.tracePath,
            configuration.keptEventsPath, configuration.webhooksPath,
        ] {
            for end in Self.companions { add(path + end, "store.path", line: configuration.storePlace.line) }
        }
        addFolder(of: configuration.storePath, "store.path", line: configuration.storePlace.line)
        addFolder(of: configuration.keyFile, "identity.key_file", line: configuration.keyFilePlace.line)
    }

    private mutating func add(_ path: String, _ key: String, line: Int) {
        guard let exposure = FileExposure(ofFile: path) else { return }
        found.append(Found(key: key, line: line, path: path, exposure: exposure))
    }

    private mutating func addFolder(of path: String, _ key: String, line: Int) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        var status = stat()
        guard stat(folder, &status) == 0, status.st_mode & S_IWOTH != 0, !found.contains(where: { $0.path == folder })
        else { return }
        found.append(Found(key: key, line: line, path: folder, exposure: .writable, isFolder: true))
    }
}
