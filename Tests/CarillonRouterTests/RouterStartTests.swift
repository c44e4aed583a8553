import Foundation
import GRDB
import Logging
import Nostr
import Observability
import Pipeline
import Testing
import TimeTestSupport

@testable import CarillonRouter
@testable import RouterConfiguration

/// If a start fails, the router closes everything it has opened, so that the next start can use the port and the store.
@Suite final class RouterStartTests {
    private let folder: String
    private var configuration: RouterConfiguration.Configuration

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-start-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        configuration = RouterConfiguration.Configuration(
            keyFile: folder + "/carillon.key",
            storePath: folder + "/carillon.sqlite"
        )
        configuration.relay.port = 0
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The first survey of devices fails, perhaps after the start has ended.
    @Test func aFailureAfterListeningClosesEverything() async throws {
        let port = try LoopbackPort(isListening: false).number
        configuration.relay.port = port
        let feed = folder + "/feed"
        #expect(mkfifo(feed, 0o600) == 0)
        configuration.feed = RouterConfiguration.Configuration.Feed(path: feed)
        try await expectFailure { router in
            try self.database("ALTER TABLE watch RENAME TO hidden")
            await #expect(throws: (any Error).self) {
                try await router.run()
            }
        }
        try database("ALTER TABLE hidden RENAME TO watch")
        #expect(try await startedPort() == port)
    }

    @Test func aStartThatCannotListenClosesEverything() async throws {
        let taken = try LoopbackPort(isListening: true)
        configuration.relay.port = taken.number
        try await expectFailure { router in
            await #expect(throws: RouterError.self) { try await router.run() }
        }
        configuration.relay.port = 0
        #expect(try await startedPort() > 0)
    }

    @Test func disabledTraceErasesAnEarlierOne() async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let store = TraceStore(path: configuration.store.tracePath, now: { 0 }, logger: logger)
        store.trace([TraceStep(step: .own, event: EventID(Bytes32(words: (1, 2, 3, 4))))], at: 0)
        store.close()
        #expect(try await startedPort() > 0)
        #expect(FileManager.default.fileExists(atPath: configuration.store.tracePath))
        configuration.trace = nil
        #expect(try await startedPort() > 0)
        #expect(!FileManager.default.fileExists(atPath: configuration.store.tracePath))
    }

    /// Runs `body` with a router that is released before this returns, and with it the lock on the store.
    private func expectFailure(_ body: (Router) async throws -> Void) async throws {
        try await body(
            Router(configuration: configuration, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        )
    }

    /// Starts a router on the same store, stops it and returns its port.
    private func startedPort() async throws -> Int {
        let router = try Router(
            configuration: configuration,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (ports, port) = AsyncStream.makeStream(of: Int.self)
        let running = Task {
            defer { port.finish() }
            try await router.run(started: { port.yield($0) })
        }
        var found = 0
        for await number in ports {
            found = number
            running.cancel()
        }
        try await running.value
        return found
    }

    private func database(_ sql: String) throws {
        try DatabaseQueue(path: configuration.store.path).writeWithoutTransaction { try $0.execute(sql: sql) }
    }
}
