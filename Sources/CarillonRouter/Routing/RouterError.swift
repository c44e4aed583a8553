import Foundation
import Glibc

/// Why the router cannot begin.
package struct RouterError: Error, CustomStringConvertible {
    package let description: String
    /// Whether another router has the store.
    package private(set) var isOfStoreInUse = false

    private init(description: String) {
        self.description = description
    }

    /// `key` is where the configuration says it.
    static func cannotListen(_ key: String, host: String, port: Int, _ error: any Error) -> RouterError {
        RouterError(description: "\(key): cannot listen on \(host):\(port): \(error)")
    }

    /// `owner` is the number of the process that has it, or empty.
    static func storeInUse(_ path: String, by owner: String) -> RouterError {
        let process = owner.isEmpty ? "" : " (process \(owner))"
        var error = RouterError(
            description:
                "store.path: another router\(process) runs on \(path), and both would send everything: stop it first"
        )
        error.isOfStoreInUse = true
        return error
    }

    static func cannotLock(_ path: String, errno number: Int32) -> RouterError {
        let reason =
            switch number {
            case EACCES, EPERM:
                "this user may not: run this as the user that runs Carillon, who must be able to write to its folder"
            case EROFS: "its disk is read-only: make it writable"
            case ENOSPC, EDQUOT: "its disk is full: make room"
            case ELOOP: "it is a link: remove it"
            default: "\(String(cString: strerror(number))): see that its folder exists and is writable"
            }
        return RouterError(description: "store.path: cannot open or make the lock \(path), as \(reason)")
    }

    /// Something else is where the lock would be.
    static func noLock(_ path: String) -> RouterError {
        RouterError(
            description:
                "store.path: \(path) is no lock of this router's: it is no plain file, has a second name or belongs to another "
                + "user; it was left as it is. Remove it"
        )
    }

    /// Root would leave files behind that the service can no longer use, in places that the service can choose.
    static func foreignFolder(of path: String, _ owner: FolderOwner) -> RouterError {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return RouterError(
            description:
                "store.path: root does not serve in another user's folder: \(folder) belongs to user \(owner.user). Run it as that "
                + "one, with User= in systemd's unit or with \(owner.command("carillon serve …")); or give root the folder "
                + "and all in it, with chown -R 0:0 \(ShellWord.quoted(folder))"
        )
    }
}
