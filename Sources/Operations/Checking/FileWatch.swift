import Core
import Foundation

/// Waits for changes of files, by looking at them twice a second: that works on every file system and with every
/// editor.
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

/// Notices changes of files from looks at them now and then.
///
/// A change counts when the next look finds the same again: an editor that writes a file in several steps is waited
/// for.
package struct FileChanges: Sendable {
    package typealias Look = [String: FileStamp]

    private var settled: Look
    private var last: Look

    /// `first` is what the files were like when they were read; those that were not there are left out.
    package init(_ first: Look) {
        settled = first
        last = first
    }

    /// The files that changed, came or went and now hold still, sorted by name; none while there are none.
    package mutating func see(_ look: Look) -> [String] {
        defer { last = look }
        guard look == last, look != settled else { return [] }
        let changed = Set(look.keys).union(settled.keys).filter { look[$0] != settled[$0] }.sorted()
        settled = look
        return changed
    }
}

/// What tells a file from what it was before, without reading it. Editors replace files, so the name alone says
/// nothing.
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

    /// The stamp of the file at `path`; nil when there is none.
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
