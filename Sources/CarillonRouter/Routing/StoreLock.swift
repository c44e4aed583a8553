import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// Keeps a second router off the same store for as long as this value lives: each would send what the other sends. The
/// kernel lets go of it when the process ends, however that happens.
final class StoreLock: Sendable {
    private let descriptor: Int32

    /// Throws a `RouterError` when another one has it, or something that is no lock of ours is in its place.
    init(store path: String) throws(RouterError) {
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
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Whoever may write to the folder may have put a link there, and root is not to write where that leads.
    private static func open(_ lock: String, store: String) throws(RouterError) -> Int32 {
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
