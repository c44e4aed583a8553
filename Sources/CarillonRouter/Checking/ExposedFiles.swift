import Cipher
import YAMLReading

/// Files with secrets that others can get at, although nothing is refused for it: keys of push services, and databases, whose
/// tokens are sealed but which tell who is registered.
struct ExposedFiles {
    struct Found: Hashable {
        /// The key in the configuration that names the file.
        let key: String
        /// From 1; 0 where the file does not come from one.
        let line: Int
        let path: String
        let exposure: FileExposure

        var remedy: String { exposure.remedy(for: path) }
    }

    /// SQLite's files beside a database.
    private static let companions = ["", "-wal", "-shm"]

    private(set) var found: [Found] = []

    init(_ configuration: Configuration) {
        for (app, block) in configuration.apps.sorted(by: { $0.key < $1.key }) {
            for (platform, block) in block.platforms.sorted(by: { $0.key < $1.key }) {
                for file in PathsInBlock.files(in: block.json) {
                    add(file.path, "apps.\(app).\(platform).\(file.key)", line: block.line)
                }
            }
        }
        for path in [
            configuration.storePath, configuration.outboxPath, configuration.contextPath, configuration.tracePath,
        ] {
            for end in Self.companions { add(path + end, "store.path", line: configuration.storePlace.line) }
        }
    }

    private mutating func add(_ path: String, _ key: String, line: Int) {
        guard let exposure = FileExposure(ofFile: path) else { return }
        found.append(Found(key: key, line: line, path: path, exposure: exposure))
    }
}
