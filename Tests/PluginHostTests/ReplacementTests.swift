import Foundation
import Glibc
import HTTPClient
import Push
import Testing

@testable import PluginHost

/// New files that replace loaded ones, as on a reload.
struct ReplacementTests {
    private func word(of host: PluginHost) async throws -> String {
        let settings = InstanceSettings(sender: RecordingHTTP(), log: LogBook().logger)
        let instance = try host.makeTransport(platform: "fixture", app: "a", configuration: "{}", settings: settings)
        return await instance.outcome().reason
    }

    @Test func pluginReplacedByRenameRunsNextToTheOldOne() async throws {
        let workshop = try Workshop()
        let path = try workshop.compile("descriptor.c", to: "x.so", [#"-DVERSION_WORD="old""#])
        let old = workshop.load()
        for version in ["newer", "newest"] {
            let next = try workshop.compile("descriptor.c", to: "next", ["-DVERSION_WORD=\"\(version)\""])
            try #require(rename(next, path) == 0)
            let new = workshop.load()
            #expect(new.catalog.refusals.isEmpty)
            #expect(new.catalog.plugins.first?.sha256 != old.catalog.plugins.first?.sha256)
            #expect(try await word(of: new) == version)
            #expect(try await word(of: old) == "old")
        }
    }

    @Test func newPluginIsLoadedNextToLoadedOnes() async throws {
        let (workshop, log) = (try Workshop(), LogBook())
        try workshop.write(Array("no plugin".utf8), to: "b.so")
        let host = workshop.load(log: log)
        let search = PluginSearch(folders: [workshop.folder])
        #expect(host.platforms.isEmpty && host.catalog.refusals.count == 1)
        try workshop.compile("descriptor.c", to: "x.so", [#"-DVERSION_WORD="first""#])
        let loads = host.loads
        host.loadFurther(search)
        #expect(host.platforms == ["fixture"] && host.loads != loads)
        #expect(try await word(of: host) == "first")
        // Neither loaded nor reported twice.
        host.loadFurther(search)
        #expect(log.lines.filter { $0.message == "Loaded a plugin" }.count == 1)
        #expect(log.lines.filter { $0.message == "Refused a plugin" }.count == 1)
        // Another file with the same names is rejected, as at the start.
        try workshop.compile("descriptor.c", to: "y.so", [#"-DVERSION_WORD="second""#])
        host.loadFurther(search)
        #expect(host.catalog.refusals.map(\.path) == [workshop.path("b.so"), workshop.path("y.so")])
        #expect(try await word(of: host) == "first")
    }

    @Test func loadedPluginStaysWhenItsFileIsReplaced() async throws {
        let workshop = try Workshop()
        let path = try workshop.compile("descriptor.c", to: "x.so", [#"-DVERSION_WORD="old""#])
        let host = workshop.load()
        let wrongPin = PluginSearch(folders: [workshop.folder], pins: ["x.so": String(repeating: "0", count: 64)])
        host.loadFurther(wrongPin)
        #expect(host.catalog.refusals == [PluginLoadError(path: path, reason: .wrongPin)])
        let next = try workshop.compile("descriptor.c", to: "next", [#"-DVERSION_WORD="new""#])
        try #require(rename(next, path) == 0)
        host.loadFurther(PluginSearch(folders: [workshop.folder]))
        #expect(host.catalog.refusals == [PluginLoadError(path: path, reason: .replacedWhileLoaded)])
        #expect(try await word(of: host) == "old")
    }

    @Test func unchangedPluginLoadsAgain() async throws {
        let workshop = try Workshop()
        try workshop.compile("descriptor.c", to: "x.so")
        let catalogs = [workshop.load(), workshop.load()].map(\.catalog.plugins)
        #expect(catalogs[0] == catalogs[1])
        #expect(catalogs[0].count == 1)
    }
}
