import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// A lock that keeps a second router off the same store while this value lives. Two routers would send every push
/// twice. The kernel releases the lock when the process ends, even after a crash.
package final class StoreLock: Sendable {
    private let descriptor: Mutex<Int32?>

    /// Throws a `StoreLockError` if another process has the lock, or if its path has a file that is not such a lock.
    package init(store path: String) throws(StoreLockError) {
        let lock = URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-lock"
        let descriptor = try Self.open(lock, store: path)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            let owner = Self.owner(descriptor)
            close(descriptor)
            throw number == EWOULDBLOCK ? .storeInUse(path, by: owner) : .cannotLock(lock, errno: number)
        }
        // The process ID is only for people, so a full disk is not an error.
        let text = Array("\(getpid())\n".utf8)
        _ = ftruncate(descriptor, 0)
        _ = pwrite(descriptor, text, text.count, 0)
        self.descriptor = Mutex(descriptor)
    }

    deinit { release() }

    /// Releases the store immediately, although this value may live a moment longer.
    package func release() {
        let held = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        if let held { close(held) }
    }

    /// Follows no links: a user who may write to the directory can place one, and root must not write to its target.
    private static func open(_ lock: String, store: String) throws(StoreLockError) -> Int32 {
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW
        var owner = stat()
        let hasStore = stat(store, &owner) == 0
        let new = Glibc.open(lock, flags | O_CREAT | O_EXCL, 0o600)
        if new >= 0 {
            // A lock that root's command creates must be usable by the router's own user.
            if geteuid() == 0, hasStore { _ = fchown(new, owner.st_uid, owner.st_gid) }
            return new
        }
        guard errno == EEXIST else { throw .cannotLock(lock, errno: errno) }
        // A FIFO would block.
        let old = Glibc.open(lock, flags | O_NONBLOCK)
        guard old >= 0 else { throw .cannotLock(lock, errno: errno) }
        var status = stat()
        guard fstat(old, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1,
            status.st_uid == geteuid() || hasStore && status.st_uid == owner.st_uid
        else {
            close(old)
            throw .noLock(lock)
        }
        return old
    }

    private static func owner(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)).prefix { (0x30...0x39).contains($0) }, as: UTF8.self)
    }
}

/// Why a command or a router cannot lock a store.
package struct StoreLockError: Error, CustomStringConvertible {
    package let description: String
    /// Whether another router has the store.
    package private(set) var isOfStoreInUse = false

    private init(description: String) {
        self.description = description
    }

    /// `owner` is the ID of the process that has the store, or empty.
    static func storeInUse(_ path: String, by owner: String) -> StoreLockError {
        let process = owner.isEmpty ? "" : " (process \(owner))"
        var error = StoreLockError(
            description:
                "store.path: another router\(process) runs on \(path), and both would send everything: stop it first"
        )
        error.isOfStoreInUse = true
        return error
    }

    static func cannotLock(_ path: String, errno number: Int32) -> StoreLockError {
        let reason =
            switch number {
            case EACCES, EPERM:
                "permission denied. Run this as the user that runs Carillon, who needs write access to its folder"
            case EROFS: "the file system is read-only. Remount it or move the store"
            case ENOSPC, EDQUOT: "the disk is full. Free some space"
            case ELOOP: "it is a link. Remove it"
            default: "\(String(cString: strerror(number))). Check that its folder exists and is writable"
            }
        return StoreLockError(description: "store.path: cannot open or create the lock \(path): \(reason)")
    }

    /// Another file has the lock's path.
    static func noLock(_ path: String) -> StoreLockError {
        StoreLockError(
            description:
                "store.path: \(path) is not a valid lock: it is not a regular file, has a second name or belongs to another "
                + "user. Remove it"
        )
    }
}
