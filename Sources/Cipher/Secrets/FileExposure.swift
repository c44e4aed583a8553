import Glibc

/// Who besides us can get at a file that holds a secret.
///
/// A file of ours is for us alone. One of root's may be open to a group: that is how systemd hands credentials out
/// (`LoadCredential=`, mode 0440 with an access list), and how operators share a key with a service. Root, who runs commands on what
/// belongs to a service, takes every owner's file for one of that owner's.
package enum FileExposure: Sendable, Hashable, CustomStringConvertible {
    /// Others may read it.
    case readable
    /// Others may write it, and so say who we are.
    case writable
    /// It belongs to neither us nor root, who can open it to anybody.
    case foreign(owner: UInt32)

    /// Nil when nobody else can get at what `status` describes. `user` is who we are.
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
