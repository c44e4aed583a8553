import Glibc

/// Which file it is, whatever it is called: what the dynamic linker goes by as well.
struct FileIdentity: Sendable, Hashable {
    var device: UInt64
    var inode: UInt64
}

extension FileIdentity {
    init(_ status: stat) {
        self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    /// Nil where there is none; that of the file that a link leads to.
    init?(ofFileAt path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }
}
