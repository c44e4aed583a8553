import Foundation
import Glibc
import Testing

@testable import CarillonRouter
@testable import Operations
@testable import RouterConfiguration

@Suite(.enabled(if: geteuid() == 0, "only root can give folders away"))
final class FolderOwnerTests {
    private let folder: String
    private var file: String { folder + "/carillon.sqlite" }

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-owner-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        try Data().write(to: URL(fileURLWithPath: folder + "/carillon.sqlite"))
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    private func owner(_ path: String) -> [UInt32]? { FolderOwner(ofFolderOf: path).map { [$0.user, $0.group] } }

    @Test func newFileBelongsToItsFoldersOwner() {
        #expect(owner(file) == nil)
        // If only the folder's owner can create files in it, the file's own owner does not matter.
        #expect(chown(file, 61_001, 61_001) == 0)
        #expect(owner(file) == nil)
        #expect(chown(folder, 61_234, 61_235) == 0)
        #expect(owner(file) == [61_234, 61_235])
        #expect(owner(folder + "/none-yet") == [61_234, 61_235])
        // Root's group is never used as the group.
        #expect(chown(folder, 61_234, 0) == 0)
        #expect(owner(file) == [61_234, 61_234])
        #expect(owner(folder + "/no/folder") == nil)
    }

    @Test func sharedFolderUsesTheFilesOwner() {
        #expect(chmod(folder, 0o1777) == 0)
        #expect(owner(file) == nil)
        #expect(chown(file, 61_234, 61_235) == 0)
        #expect(owner(file) == [61_234, 61_235])
    }

    @Test func linkIntoAnothersFolderBelongsToThatOwner() throws {
        let inner = folder + "/inner"
        try FileManager.default.createDirectory(atPath: inner, withIntermediateDirectories: false)
        try Data().write(to: URL(fileURLWithPath: inner + "/store"))
        #expect(chown(inner, 61_234, 61_234) == 0)
        #expect(symlink(inner + "/store", folder + "/link") == 0)
        #expect(owner(folder + "/link") == [61_234, 61_234])
    }

    @Test func filesOwnedByRootAreReported() async throws {
        let configuration = folder + "/carillon.yaml"
        let state = folder + "/state"
        try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
        #expect(chown(state, 61_234, 61_234) == 0)
        try Data("identity: { key_file: state/key }\nstore: { path: state/db }\n".utf8).write(
            to: URL(fileURLWithPath: configuration)
        )
        try Data((String(repeating: "1", count: 64) + "\n").utf8).write(to: URL(fileURLWithPath: state + "/key"))
        for name in ["db-lock", "db-trace"] { try Data().write(to: URL(fileURLWithPath: "\(state)/\(name)")) }
        for name in ["key", "db-lock", "db-trace"] { #expect(chmod("\(state)/\(name)", 0o600) == 0) }
        #expect(chown(state + "/db-trace", 61_234, 61_234) == 0)
        let found = await ConfigurationCheck(path: configuration).mistakes().map {
            "\($0)".replacing(folder, with: "~")
        }
        let words = "user 61234, who owns the folder, cannot use files in it; run: chown 61234:61234"
        #expect(
            found == [
                "~/carillon.yaml:1:11: identity.key_file: \(words) ~/state/key",
                "~/carillon.yaml:2:8: store.path: \(words) ~/state/db-lock",
            ]
        )
        // A group with read access is enough for a key, but not for files that the router writes.
        for name in ["key", "db-lock"] {
            #expect(chown("\(state)/\(name)", 0, 61_234) == 0 && chmod("\(state)/\(name)", 0o640) == 0)
        }
        let left = StrandedFiles(try Configuration(file: configuration)).found
        #expect(left.map(\.key) == ["store.path"])
    }
}
