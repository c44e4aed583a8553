/// Waits for changes of files, by looking at them twice a second: that works on every file system and with every editor.
package struct FileWatch: Sendable {
    private let stamp: @Sendable (String) -> FileStamp?
    private let pause: @Sendable () async throws -> Void
    private var changes: FileChanges
    private let paths: [String]

    /// Begins with how the files at `paths` are now, so make it before they are read.
    package init(
        _ paths: [String],
        stamp: @escaping @Sendable (String) -> FileStamp? = FileStamp.of,
        pause: @escaping @Sendable () async throws -> Void = { try await Task.sleep(for: .milliseconds(500)) }
    ) {
        self.paths = paths
        self.stamp = stamp
        self.pause = pause
        changes = FileChanges(Self.look(at: paths, stamp))
    }

    /// The files that changed, as soon as they hold still. Throws what `pause` throws.
    package mutating func next() async throws -> [String] {
        while true {
            try await pause()
            let changed = changes.see(Self.look(at: paths, stamp))
            if !changed.isEmpty { return changed }
        }
    }

    private static func look(at paths: [String], _ stamp: (String) -> FileStamp?) -> FileChanges.Look {
        Dictionary(paths.compactMap { path in stamp(path).map { (path, $0) } }) { first, _ in first }
    }
}
