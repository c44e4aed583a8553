import Foundation
import Synchronization
import Testing

@testable import CarillonRouter
@testable import Operations

@Suite struct FileWatchTests {
    private static func stamp(_ number: UInt64) -> FileStamp {
        FileStamp(inode: number, size: 10, modifiedAt: 0)
    }

    @Test func unchangedFilesAreNotReported() {
        let look = ["a": Self.stamp(1)]
        var changes = FileChanges(look)
        #expect(changes.see(look).isEmpty && changes.see(look).isEmpty)
    }

    @Test func changeCountsOnceItIsStable() {
        var changes = FileChanges(["a": Self.stamp(1), "b": Self.stamp(1)])
        #expect(changes.see(["a": Self.stamp(2), "b": Self.stamp(1)]).isEmpty)
        #expect(changes.see(["a": Self.stamp(3), "b": Self.stamp(1)]).isEmpty)
        #expect(changes.see(["a": Self.stamp(3), "b": Self.stamp(1)]) == ["a"])
        #expect(changes.see(["a": Self.stamp(3), "b": Self.stamp(1)]).isEmpty)
    }

    /// Some editors delete the old file before they rename the new one.
    @Test func briefAbsenceOfAFileIsAChange() {
        var changes = FileChanges(["a": Self.stamp(1)])
        #expect(changes.see([:]).isEmpty)
        #expect(changes.see(["a": Self.stamp(2)]).isEmpty)
        #expect(changes.see(["a": Self.stamp(2)]) == ["a"])
    }

    @Test func addedAndRemovedFilesAreChanges() {
        var changes = FileChanges(["a": Self.stamp(1)])
        _ = changes.see(["b": Self.stamp(2)])
        #expect(changes.see(["b": Self.stamp(2)]) == ["a", "b"])
    }

    @Test func waitingEndsWithTheChange() async throws {
        let looks = Mutex(0)
        var watch = FileWatch(
            ["rules.yaml"],
            stamp: { _ in Self.stamp(looks.withLock { $0 } < 3 ? 1 : 2) },
            pause: { looks.withLock { $0 += 1 } }
        )
        #expect(try await watch.next() == ["rules.yaml"])
        #expect(looks.withLock { $0 } == 4)
    }

    @Test func replacementOfTheSameSizeIsAChange() throws {
        let folder = URL(filePath: NSTemporaryDirectory()).appending(path: "carillon-watch-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, other) = (folder.appending(path: "rules.yaml"), folder.appending(path: "new"))
        try Data("one".utf8).write(to: file)
        try Data("two".utf8).write(to: other)
        let before = try #require(FileStamp.of(file.path))
        #expect(before.size == 3)
        #expect(rename(other.path, file.path) == 0)
        let after = try #require(FileStamp.of(file.path))
        #expect(after != before && after.size == 3)
        #expect(FileStamp.of(other.path) == nil)
    }
}
