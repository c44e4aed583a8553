import Glibc

/// Makes files that hold a secret: readable by us alone, and whole from the moment they have their name.
package enum NewSecretFile {
    /// Writes `bytes` to a file that must not be there yet. The name appears once all bytes are on disk, so that a
    /// killed process never leaves an empty key behind. Answers with the system's error number; 0 when it is done.
    package static func create(_ path: String, _ bytes: [UInt8]) -> Int32 {
        removeRemains(of: path)
        let unfinished = path + suffix
        let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { removeRemains(of: path) }
        defer { close(descriptor) }
        let written = write(bytes, to: descriptor)
        guard written == 0 else { return written }
        // Unlike a renaming, this fails when there is a file by now. It names what was written here, whoever has
        // changed the name since.
        guard linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0 else {
            return errno
        }
        flushFolder(of: path)
        return 0
    }

    /// Removes what a process left beside `path` that was killed while it made the file.
    package static func removeRemains(of path: String) { unlink(path + suffix) }

    private static let suffix = "-new"

    private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                guard errno == EINTR else { return errno }
                continue
            }
            rest = rest.dropFirst(count)
        }
        return fsync(descriptor) == 0 ? 0 : errno
    }

    private static func flushFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let stream = opendir(folder) else { return }
        _ = fsync(dirfd(stream))
        closedir(stream)
    }
}
