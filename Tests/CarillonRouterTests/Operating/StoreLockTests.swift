import Foundation
import Glibc
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite final class StoreLockTests {
    private let folder: String
    private var store: String { folder + "/carillon.sqlite" }
    private var lock: String { store + "-lock" }
    private var victim: String { folder + "/victim" }

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-lock-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data("not yours".utf8).write(to: URL(fileURLWithPath: folder + "/victim"))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func refusal() -> String {
        do {
            _ = try StoreLock(store: store)
            return "none"
        } catch {
            return "\(error)".replacing(folder, with: "~")
        }
    }

    @Test func lockIsHeldUntilItsRouterEnds() throws {
        var first: StoreLock? = try StoreLock(store: store)
        #expect(refusal().contains("another router (process \(getpid())) runs on"))
        withExtendedLifetime(first) {}
        first = nil
        #expect(refusal() == "none")
    }

    @Test func aLinkIsNotFollowed() throws {
        for target in [victim, folder + "/nothing"] {
            #expect(symlink(target, lock) == 0)
            #expect(refusal().hasSuffix("~/carillon.sqlite-lock: it is a link. Remove it"))
            #expect(unlink(lock) == 0)
        }
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "not yours")
        #expect(!FileManager.default.fileExists(atPath: folder + "/nothing"))
    }

    @Test func foreignLockFileIsLeftUnchanged() throws {
        #expect(link(victim, lock) == 0)
        #expect(refusal().contains("~/carillon.sqlite-lock is not a valid lock"))
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "not yours")
        #expect(unlink(lock) == 0 && mkfifo(lock, 0o600) == 0)
        #expect(refusal().contains("is not a valid lock"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func anotherUsersFileIsNotChanged() throws {
        #expect(rename(victim, lock) == 0 && chown(lock, 65_534, 65_534) == 0)
        #expect(refusal().contains("is not a valid lock"))
        // This changes if the user owns the store too.
        try Data().write(to: URL(fileURLWithPath: store))
        #expect(chown(store, 65_534, 65_534) == 0)
        #expect(refusal() == "none")
    }

    @Test func lockFailureNamesItsReason() {
        let sentences = [
            (EACCES, "the user that runs Carillon"), (EROFS, "file system is read-only"), (ENOSPC, "the disk is full"),
            (ENOENT, "No such file or directory"),
        ]
        for (number, words) in sentences {
            #expect(StoreLockError.cannotLock("/s/x-lock", errno: number).description.contains(words))
        }
    }
}
