import Glibc

/// Whom a file must belong to, and who may write it, before its code runs inside the router.
enum FileTrust {
    /// Why the folder at `path` cannot be trusted, or nil.
    static func distrust(ofFolder path: String) -> PluginRefusal.Reason? {
        var status = stat()
        guard stat(path, &status) == 0 else { return .unreadable(String(cString: strerror(errno))) }
        guard status.st_mode & S_IFMT == S_IFDIR else { return .unreadable("it is not a folder") }
        return distrust(of: status, at: path)
    }

    /// Why what `status` describes cannot be trusted, or nil.
    static func distrust(of status: stat, at path: String) -> PluginRefusal.Reason? {
        guard status.st_uid == 0 || status.st_uid == geteuid() else {
            return .foreignOwner(path, owner: status.st_uid)
        }
        guard status.st_mode & (S_IWGRP | S_IWOTH) == 0 else { return .writableByOthers(path) }
        return nil
    }
}
