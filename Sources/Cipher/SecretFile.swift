import Glibc

/// Makes files that hold a secret: readable by us alone, and whole from the moment they have their name.
package enum NewSecretFile {
    /// Writes `bytes` to a file that must not be there yet. The name appears once all bytes are on disk, so that a
    /// killed process never leaves an empty key behind. Answers with the system's error number; 0 when it is done.
    ///
    /// `owner` gets the file; nil: we do.
    package static func create(
        _ path: String,
        _ bytes: [UInt8],
        owner: (user: uid_t, group: gid_t)? = nil
    ) -> Int32 {
        removeRemains(of: path)
        let unfinished = path + suffix
        let descriptor = open(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return errno }
        defer { removeRemains(of: path) }
        defer { close(descriptor) }
        if let owner, fchown(descriptor, owner.user, owner.group) != 0 { return errno }
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

    /// Has the folder of `path` on disk as it is.
    package static func flushFolder(of path: String) {
        let folder = path.lastIndex(of: "/").map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        guard let stream = opendir(folder) else { return }
        _ = fsync(dirfd(stream))
        closedir(stream)
    }
}

/// Who else can get at a file that holds a secret.
///
/// A file of ours is for us alone. One of root's may be open to a group: that is how systemd hands credentials out
/// (`LoadCredential=`, mode 0440 with an access list), and how operators share a key with a service. Root, who runs
/// commands on what belongs to a service, takes every owner's file for one of that owner's.
package enum FileExposure: Sendable, Hashable, CustomStringConvertible {
    /// Others may read it.
    case readable
    /// Others may write it, and so say who we are.
    case writable
    /// It belongs to neither us nor root, who can open it to anybody.
    case foreign(owner: UInt32)

    /// Nil when only we can get at what `status` describes. `user` is who we are.
    package init?(_ status: stat, user: uid_t = geteuid()) {
        if user != 0, status.st_uid != 0, status.st_uid != user {
            self = .foreign(owner: status.st_uid)
        } else if status.st_mode & (S_IWGRP | S_IWOTH) != 0 {
            self = .writable
        } else if status.st_mode & S_IROTH != 0 || status.st_mode & S_IRGRP != 0 && (status.st_uid != 0 || user == 0) {
            self = .readable
        } else {
            return nil
        }
    }

    /// The same of the file at `path`; nil also where there is none.
    package init?(ofFile path: String) {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        self.init(status)
    }

    /// What is wrong, to be said after the file's name.
    package var description: String {
        switch self {
        case .readable: "is open to other users"
        case .writable: "can be written by other users"
        case .foreign(let owner): "belongs to another user (\(owner))"
        }
    }

    /// What an operator runs to mend that for `path`. `user` is who we are: a number, as it is root who runs it.
    package func remedy(for path: String, user: uid_t = geteuid()) -> String {
        switch self {
        case .readable, .writable: "chmod 600 \(path)"
        case .foreign: "chown \(user) \(path) && chmod 600 \(path)"
        }
    }
}
