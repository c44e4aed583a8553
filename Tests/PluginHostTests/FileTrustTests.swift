import CommandTestSupport
import Foundation
import Glibc
import Logging
import Testing

@testable import PluginHost

/// The owner and mode of files whose code may run.
struct FileTrustTests {
    @Test(arguments: [0o666, 0o664, 0o646]) func fileThatOthersMayWriteIsRefused(mode: Int) throws {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "good.so", [#"-DPLATFORM="good""#])
        let bad = try workshop.compile("descriptor.c", to: "bad.so")
        try workshop.permissions(mode, of: bad)
        let host = workshop.load()
        #expect(host.platforms == ["good"])
        #expect(host.catalog.refusals == [PluginLoadError(path: bad, reason: .writableByOthers(bad))])
    }

    @Test func folderThatOthersMayWriteIsRefused() throws {
        let open = try Workshop()
        try open.compile("descriptor.c", to: "bad.so")
        try open.permissions(0o777, of: open.folder)
        let closed = try Workshop()
        try closed.compile("descriptor.c", to: "good.so", [#"-DPLATFORM="good""#])
        let host = PluginHost(
            loading: PluginSearch(folders: [open.folder, closed.folder]),
            isolation: .forTests,
            log: LogBook().logger
        )
        #expect(host.platforms == ["good"])
        #expect(host.catalog.refusals == [PluginLoadError(path: open.folder, reason: .writableByOthers(open.folder))])
    }

    @Test func linkIntoAnOpenFolderIsRefused() throws {
        let open = try Workshop()
        try open.compile("descriptor.c", to: "real.so")
        try open.permissions(0o777, of: open.folder)
        let workshop = try Workshop()
        let link = workshop.path("bad.so")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: open.path("real.so"))
        let host = workshop.load()
        #expect(host.catalog.refusals == [PluginLoadError(path: link, reason: .writableByOthers(open.folder))])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func foreignOwnerIsRefused() throws {
        let workshop = try Workshop()
        let bad = try workshop.compile("descriptor.c", to: "bad.so")
        try #require(chown(bad, 65_534, 65_534) == 0)
        #expect(workshop.load().catalog.refusals.map(\.reason) == [.foreignOwner(bad, owner: 65_534)])
    }

    @Test func oddFoldersAndFilesAreRefused() throws {
        let workshop = try Workshop()
        let pipe = workshop.path("pipe.so")
        try #require(mkfifo(pipe, 0o600) == 0)
        let folder = workshop.path("folder.so")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        let search = PluginSearch(folders: ["relative", workshop.path("missing"), workshop.folder])
        let refusals = PluginHost(loading: search, isolation: .forTests, log: LogBook().logger).catalog.refusals
        #expect(refusals.map(\.path) == ["relative", workshop.path("missing"), folder, pipe])
        #expect(refusals.map(\.reason).prefix(1) == [.folderNotAbsolute])
        #expect(refusals.map(\.reason).suffix(2) == [.notAFile, .notAFile])
    }

    @Test func pinIsComparedWithTheFile() throws {
        let workshop = try Workshop()
        let one = try workshop.compile("descriptor.c", to: "one.so", [#"-DPLATFORM="one""#])
        let two = try workshop.compile("descriptor.c", to: "two.so", [#"-DPLATFORM="two""#])
        let sum = try CommandRun("sha256sum", [one]).output.prefix(64).uppercased()
        let host = workshop.load(pins: ["one.so": sum, "two.so": sum])
        #expect(host.platforms == ["one"])
        #expect(host.catalog.refusals == [PluginLoadError(path: two, reason: .wrongPin)])
    }

    @Test func firstFolderWinsAndTheShadowedIsReported() throws {
        let first = try Workshop()
        let second = try Workshop()
        try first.compile("descriptor.c", to: "x.so", [#"-DPLATFORM="first""#])
        try second.compile("descriptor.c", to: "x.so", [#"-DPLATFORM="second""#])
        try second.compile("descriptor.c", to: "y.so", [#"-DPLATFORM="third""#])
        let host = PluginHost(
            loading: PluginSearch(folders: [first.folder, second.folder]),
            isolation: .forTests,
            log: LogBook().logger
        )
        #expect(host.platforms == ["first", "third"])
        #expect(
            host.catalog.refusals == [
                PluginLoadError(path: second.path("x.so"), reason: .shadowed(by: first.path("x.so")))
            ]
        )
    }

    @Test func loadsAndRefusalsAreLogged() throws {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "good.so")
        let bad = try workshop.write("x".utf8, to: "bad.so")
        let log = LogBook()
        _ = workshop.load(log: log)
        #expect(log.lines.map(\.message) == ["Loaded a plugin", "Refused a plugin"])
        #expect(log.lines.last?.metadata["path"] == "\(bad)")
        #expect(log.lines.last?.metadata["reason"] == "is not an ELF file")
    }
}
