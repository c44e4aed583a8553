import Core
import Foundation

/// Waits for changes of files by polling twice a second, which works with all file systems and editors.
package struct FileWatch: Sendable {
    private let stamp: @Sendable (String) -> FileStamp?
    private let pause: @Sendable () async throws -> Void
    private var changes: FileChanges
    private let paths: [String]

    /// Starts with the current state of the files at `paths`, so create it before you read them.
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

    /// Returns the changed files as soon as they are stable. Throws errors of `pause`.
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

/// Detects changes of files by comparing periodic snapshots of their attributes.
///
/// A change counts only if the next snapshot is identical, because an editor may write a file in several steps.
package struct FileChanges: Sendable {
    package typealias Look = [String: FileStamp]

    private var settled: Look
    private var last: Look

    /// `first` is the state of the files when they were read, without missing files.
    package init(_ first: Look) {
        settled = first
        last = first
    }

    /// Returns the files that changed, appeared or disappeared and are now stable, sorted by name.
    package mutating func see(_ look: Look) -> [String] {
        defer { last = look }
        guard look == last, look != settled else { return [] }
        let changed = Set(look.keys).union(settled.keys).filter { look[$0] != settled[$0] }.sorted()
        settled = look
        return changed
    }
}

/// Attributes that detect a change of a file without reading it. Editors replace files, so the name is not enough.
package struct FileStamp: Hashable, Sendable {
    package var inode: UInt64
    /// In bytes.
    package var size: Int64
    /// In nanoseconds since 1970.
    package var modifiedAt: Int64

    package init(inode: UInt64, size: Int64, modifiedAt: Int64) {
        self.inode = inode
        self.size = size
        self.modifiedAt = modifiedAt
    }

    /// Returns the stamp of the file at `path`; nil if there is none.
    package static func of(_ path: String) -> FileStamp? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return FileStamp(
            inode: UInt64(status.st_ino),
            size: Int64(status.st_size),
            modifiedAt: Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
        )
    }
}
