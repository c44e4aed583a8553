import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#endif

/// Keeps a second router off the same store for as long as this value lives: each would send what the other sends. The
/// kernel lets go of it when the process ends, however that happens.
package final class StoreLock: Sendable {
    private let descriptor: Mutex<Int32?>

    /// Throws a `StoreLockError` when another one has it, or something that is no lock of ours is in its place.
    package init(store path: String) throws(StoreLockError) {
        let lock = URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-lock"
        let descriptor = try Self.open(lock, store: path)
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            let owner = Self.owner(descriptor)
            close(descriptor)
            throw number == EWOULDBLOCK ? .storeInUse(path, by: owner) : .cannotLock(lock, errno: number)
        }
        // For people; a full disk is no reason to refuse.
        let text = Array("\(getpid())\n".utf8)
        _ = ftruncate(descriptor, 0)
        _ = pwrite(descriptor, text, text.count, 0)
        self.descriptor = Mutex(descriptor)
    }

    deinit { release() }

    /// Lets another one have the store at once, while this value may still live for a moment.
    package func release() {
        let held = descriptor.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        if let held { close(held) }
    }

    /// Whoever may write to the folder may have put a link there, and root is not to write where that leads.
    private static func open(_ lock: String, store: String) throws(StoreLockError) -> Int32 {
        let flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW
        var owner = stat()
        let hasStore = stat(store, &owner) == 0
        let new = Glibc.open(lock, flags | O_CREAT | O_EXCL, 0o600)
        if new >= 0 {
            // Root's commands leave no lock behind that the router's own user cannot open.
            if geteuid() == 0, hasStore { _ = fchown(new, owner.st_uid, owner.st_gid) }
            return new
        }
        guard errno == EEXIST else { throw .cannotLock(lock, errno: errno) }
        // A FIFO would have us wait.
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

/// Why a command or a router cannot have a store for itself.
package struct StoreLockError: Error, CustomStringConvertible {
    package let description: String
    /// Whether another router has the store.
    package private(set) var isOfStoreInUse = false

    private init(description: String) {
        self.description = description
    }

    /// `owner` is the number of the process that has it, or empty.
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
                "this user may not: run this as the user that runs Carillon, who must be able to write to its folder"
            case EROFS: "its disk is read-only: make it writable"
            case ENOSPC, EDQUOT: "its disk is full: make room"
            case ELOOP: "it is a link: remove it"
            default: "\(String(cString: strerror(number))): see that its folder exists and is writable"
            }
        return StoreLockError(description: "store.path: cannot open or make the lock \(path), as \(reason)")
    }

    /// Something else is where the lock would be.
    static func noLock(_ path: String) -> StoreLockError {
        StoreLockError(
            description:
                "store.path: \(path) is no lock of this router's: it is no plain file, has a second name or belongs to another "
                + "user; it was left as it is. Remove it"
        )
    }
}
