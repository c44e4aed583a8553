import Foundation
import Testing

@testable import Cipher

struct NewSecretFileTests {
    private let folder: URL
    private var path: String { folder.appending(path: "key").path }
    private var files: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path) } }

    init() throws {
        folder = URL.temporaryDirectory.appending(path: "carillon-secret-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    @Test func newFileIsCompleteAndPrivateToItsOwner() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(NewSecretFile.create(path, Array("secret\n".utf8)) == 0)
        #expect(FileManager.default.contents(atPath: path) == Data("secret\n".utf8))
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try files == ["key"])
    }

    @Test func existingFileIsKept() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data("first".utf8).write(to: URL(fileURLWithPath: path))
        #expect(NewSecretFile.create(path, Array("second".utf8)) == EEXIST)
        #expect(FileManager.default.contents(atPath: path) == Data("first".utf8))
        #expect(try files == ["key"])
    }

    @Test func leftoverOfAKilledProcessIsReplaced() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data().write(to: URL(fileURLWithPath: path + "-new"))
        #expect(NewSecretFile.create(path, Array("secret".utf8)) == 0)
        #expect(try files == ["key"])
    }

    @Test func missingFolderIsReportedByErrno() {
        #expect(NewSecretFile.create(path + "/nowhere/key", [1]) == ENOENT)
        try? FileManager.default.removeItem(at: folder)
    }
}
