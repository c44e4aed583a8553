import Cipher
import CommandTestSupport
import Core
import Foundation
import Logging
import Nostr
import PluginHost
import Registry
import Synchronization
import Testing
import TimeTestSupport

@testable import CarillonRouter

/// The state of plugins, in a registry on disk.
@Suite final class PluginStateKeeperTests {
    private static let ios = StateOwner.transport(platform: "ios", app: "main")
    private static let mutes = StateOwner.filter("mutes")
    private static let secret = "an-oauth-token-that-nobody-may-see"
    private static let key = "name-of-the-token"

    private let folder: String
    private let identity: KeyPair
    private let clock = ManualClock()

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-states-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        identity = try KeyPair(random: SecureRandom.bytes)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private var path: String { folder + "/carillon.sqlite" }

    private func table() throws -> PluginStateTable {
        try PluginStateTable(store: RegistryStore(path: path), identity: identity)
    }

    private func keeper(_ table: PluginStateTable? = nil) throws -> PluginStateKeeper {
        PluginStateKeeper(
            try table ?? self.table(),
            now: clock.now,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
    }

    private func entry(_ key: String, _ value: String) -> StateEntry {
        StateEntry(key: Array(key.utf8), value: Array(value.utf8))
    }

    private func values(_ entries: [StateEntry]) -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: entries.map {
                (String(decoding: $0.key, as: UTF8.self), String(decoding: $0.value, as: UTF8.self))
            }
        )
    }

    @Test func savedStateSurvivesARestart() throws {
        let keeper = try keeper()
        #expect(keeper.load(Self.ios).isEmpty)
        keeper.save(entry("a", "1"), of: Self.ios)
        keeper.save(entry("b", "2"), of: Self.ios)
        keeper.save(entry("a", "3"), of: Self.ios)
        keeper.save(entry("b", ""), of: Self.ios)
        keeper.save(entry("c", "filter"), of: Self.mutes)
        // Values are found even before they are on disk.
        #expect(values(keeper.load(Self.ios)) == ["a": "3"])
        keeper.flush()
        #expect(values(keeper.load(Self.ios)) == ["a": "3"])
        let next = try self.keeper()
        #expect(values(next.load(Self.ios)) == ["a": "3"])
        #expect(values(next.load(Self.mutes)) == ["c": "filter"])
        #expect(next.load(.transport(platform: "ios", app: "other")).isEmpty)
        next.save(entry("a", ""), of: Self.ios)
        next.flush()
        #expect(try self.keeper().load(Self.ios).isEmpty)
    }

    /// A plugin finds it after a restart of the router.
    @Test(.timeLimit(.minutes(2))) func pluginReadsItsState() async throws {
        let plugin = try Self.compiledPlugin(in: folder)
        for expected in ["0 none", "1 1", "1 2"] {
            let lines = Lines()
            let keeper = try keeper()
            let host = PluginHost(
                loading: PluginSearch(folders: [plugin]),
                isolation: IsolationSettings(program: BuiltFile.pluginHost),
                log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
            let instance = try host.makeTransport(
                platform: "fixture",
                app: "main",
                configuration: #"{"do":"count"}"#,
                settings: InstanceSettings(sender: RecordingHTTP(), log: lines.logger, states: PluginStates(keeper))
            )
            #expect(await instance.drain(within: .seconds(20)))
            #expect(lines.all == [expected, "destroyed"])
            keeper.flush()
        }
    }

    /// Compiles the plugin in the test's folder.
    private static func compiledPlugin(in folder: String) throws -> String {
        let repository = URL(filePath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let plugins = URL(filePath: folder).resolvingSymlinksInPath().appending(path: "plugins").path
        try FileManager.default.createDirectory(
            atPath: plugins,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        let source = repository.appending(path: "Tests/PluginHostTests/Fixtures/services.c").path
        let include = repository.appending(path: "include").path
        let library = plugins + "/plugin.so"
        let result = try CommandRun("cc", ["-std=c11", "-shared", "-fPIC", "-I", include, source, "-o", library])
        try #require(result.status == 0, "\(result.output)")
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: library)
        return plugins
    }

    /// The messages of plugins.
    private final class Lines: Sendable {
        private let kept = Mutex<[String]>([])

        var all: [String] { kept.withLock(\.self) }

        var logger: Logger { Logger(label: "test") { _ in Handler(lines: self) } }

        private struct Handler: LogHandler {
            let lines: Lines
            var metadata: Logger.Metadata = [:]
            var logLevel = Logger.Level.info

            subscript(metadataKey key: String) -> Logger.Metadata.Value? {
                get { metadata[key] }
                set { metadata[key] = newValue }
            }

            func log(event: LogEvent) {
                guard let line = event.metadata?["line"] else { return }
                lines.kept.withLock { $0.append("\(line)") }
            }
        }
    }

    /// The keeper writes without a call of `flush`.
    @Test(.timeLimit(.minutes(1))) func stateIsOnDiskSoon() async throws {
        let (keeper, table) = (try keeper(), try table())
        keeper.save(entry("a", "1"), of: Self.ios)
        while try table.entries(of: Self.ios.name).entries.isEmpty { await Task.yield() }
    }

    @Test func stateIsSealedOnDisk() throws {
        let keeper = try keeper()
        keeper.save(entry(Self.key, Self.secret), of: Self.ios)
        keeper.flush()
        var length = 0
        for file in try FileManager.default.contentsOfDirectory(atPath: folder) {
            let bytes = try Data(contentsOf: URL(filePath: folder + "/" + file))
            length += bytes.count
            #expect(bytes.firstRange(of: Data(Self.secret.utf8)) == nil, "\(file)")
            #expect(bytes.firstRange(of: Data(Self.key.utf8)) == nil, "\(file)")
        }
        #expect(length > Self.secret.utf8.count)
    }

    @Test func anotherIdentityCannotReadState() throws {
        let keeper = try keeper()
        keeper.save(entry("a", "1"), of: Self.ios)
        keeper.flush()
        let other = try KeyPair(random: SecureRandom.bytes)
        #expect(throws: RegistryStoreError.self) {
            _ = try PluginStateTable(store: RegistryStore(path: path), identity: other)
        }
    }

    /// Values of unused owners are kept for 30 days.
    @Test func stateOfUnusedPluginsIsForgotten() throws {
        let table = try table()
        let all = [Self.ios.name, Self.mutes.name]
        try table.write(all.map { .init(owner: $0, entry: entry("a", "1")) }, now: clock.now())
        clock.advance(by: .days(29))
        try table.forgetUnused(but: [Self.ios.name], now: clock.now())
        clock.advance(by: .days(2))
        #expect(try table.entries(of: Self.mutes.name).entries.count == 1)
        try table.forgetUnused(but: [Self.ios.name], now: clock.now())
        #expect(try table.entries(of: Self.mutes.name).entries.isEmpty)
        #expect(try table.entries(of: Self.ios.name).entries.count == 1)
    }

    /// Many instances and one keeper: the last value of each is kept, even with concurrent writers.
    @Test func concurrentWritersLoseNoState() async throws {
        let keeper = try keeper()
        await withTaskGroup { group in
            for app in 0..<4 {
                group.addTask {
                    for round in 0..<500 {
                        let value = StateEntry(key: Array("k\(round % 5)".utf8), value: Array("\(round)".utf8))
                        keeper.save(value, of: .transport(platform: "ios", app: "\(app)"))
                        if round % 100 == 0 { keeper.flush() }
                    }
                }
            }
        }
        keeper.flush()
        let next = try self.keeper()
        for app in 0..<4 {
            let found = values(next.load(.transport(platform: "ios", app: "\(app)")))
            #expect(found == ["k0": "495", "k1": "496", "k2": "497", "k3": "498", "k4": "499"])
        }
    }
}
