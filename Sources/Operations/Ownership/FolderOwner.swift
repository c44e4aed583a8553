import CPrivileges
import Foundation
import Glibc

/// The user, not root, whose folder holds files of a router. What root writes there would be in that user's way, and where it is
/// written is for that user to say, by links for instance.
package struct FolderOwner: Hashable, Sendable {
    package let user: uid_t
    package let group: gid_t

    /// Nil where the folder of the file at `path` is root's and nobody else fills it, and where there is none.
    package init?(ofFolderOf path: String) {
        let file = URL(fileURLWithPath: path)
        // A link in root's folder is root's; where it leads others may be.
        guard let owner = Self(around: file) ?? Self(around: file.resolvingSymlinksInPath()) else { return nil }
        self = owner
    }

    private init?(around file: URL) {
        var folder = stat()
        guard stat(file.deletingLastPathComponent().path, &folder) == 0 else { return nil }
        if folder.st_uid != 0 {
            self.init(folder)
            return
        }
        // In a folder that others may fill the file tells whose it is.
        var status = stat()
        guard folder.st_mode & (S_IWGRP | S_IWOTH) != 0, lstat(file.path, &status) == 0, status.st_uid != 0 else {
            return nil
        }
        self.init(status)
    }

    private init(_ status: stat) {
        user = status.st_uid
        group = status.st_gid == 0 ? status.st_uid : status.st_gid
    }

    /// Whether this user may read the file that `status` describes, and write it too if it is one that is written.
    func canUse(_ status: stat, isWritten: Bool) -> Bool {
        if status.st_uid == user { return true }
        let wanted = isWritten ? S_IRGRP | S_IWGRP : S_IRGRP
        return status.st_gid == group && status.st_mode & wanted == wanted
    }

    /// Where root runs a command that changes files beside `path` and their folder is another user's, runs it anew as that user, who
    /// may read what root may; else does nothing.
    ///
    /// Throws an ``OperationFailure`` where that cannot be done. The process is not to go on then.
    package static func takeOver(folderOf path: String) throws(OperationFailure) {
        guard geteuid() == 0, let owner = FolderOwner(ofFolderOf: path) else { return }
        var number = carillon_become(owner.user, owner.group)
        if number == 0 {
            execv("/proc/self/exe", CommandLine.unsafeArgv)
            number = errno
        }
        let reason = String(cString: strerror(number))
        throw .unavailable(
            "the folder of \(path) belongs to user \(owner.user), and root cannot act as that one here (\(reason)): run this "
                + "as that user, as with \(owner.command("carillon …"))"
        )
    }

    /// What root runs to have `words` run by this user.
    package func command(_ words: String) -> String {
        "setpriv --reuid=\(user) --regid=\(group) --clear-groups \(words)"
    }
}
