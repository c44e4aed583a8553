import Foundation
import Testing

@testable import CarillonRouter
@testable import RouterConfiguration

@Suite final class BlockFingerprintTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("blocks-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    @Test func fingerprintCoversTheBlockAndItsFiles() throws {
        let (key, old) = (folder.appendingPathComponent("a.p8"), folder.appendingPathComponent("b.pem"))
        let block = "{\"key_file\":\"\(key.path)\",\"old_vapid_key_files\":[\"\(old.path)\"],\"note\":\"x\"}"
        var seen = [BlockFingerprint(of: block)]
        for (file, content) in [(key, ""), (key, "one"), (old, "one"), (key, "two"), (old, "two")] {
            try Data(content.utf8).write(to: file)
            seen.append(BlockFingerprint(of: block))
            #expect(BlockFingerprint(of: block) == seen.last)
        }
        seen.append(BlockFingerprint(of: block.replacing("\"x\"", with: "\"y\"")))
        #expect(Set(seen).count == seen.count)
    }
}
