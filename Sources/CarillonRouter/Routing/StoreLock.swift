import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// Keeps a second router off the same store for as long as this value lives: each would send what the other sends. The
/// kernel lets go of it when the process ends, however that happens.
final class StoreLock: Sendable {
    private let descriptor: Int32

    /// Throws a `RouterError` when another one has it.
    init(store path: String) throws(RouterError) {
        let lock = URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-lock"
        descriptor = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw .cannotLock(lock, errno: errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let number = errno
            let owner = Self.owner(descriptor)
            close(descriptor)
            throw number == EWOULDBLOCK ? .storeInUse(path, by: owner) : .cannotLock(lock, errno: number)
        }
        // Root's commands leave no lock behind that the router's own user cannot open.
        var status = stat()
        if geteuid() == 0, stat(path, &status) == 0 { _ = fchown(descriptor, status.st_uid, status.st_gid) }
        // For people; a full disk is no reason to refuse.
        let text = Array("\(getpid())\n".utf8)
        _ = ftruncate(descriptor, 0)
        _ = pwrite(descriptor, text, text.count, 0)
    }

    deinit {
        close(descriptor)
    }

    private static func owner(_ descriptor: Int32) -> String {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return String(decoding: bytes.prefix(max(0, count)).prefix { (0x30...0x39).contains($0) }, as: UTF8.self)
    }
}
