import Foundation

/// What tells a file from what it was before, without reading it. Editors replace files, so the name alone says nothing.
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
