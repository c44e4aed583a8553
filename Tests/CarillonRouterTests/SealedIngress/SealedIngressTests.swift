import Core
import Delivery
import Foundation
import GRDB
import HTTPClient
import Listeners
import Logging
import PlatformTestSupport
import Push
import Registry
import Storage
import Testing
import TimeTestSupport
import WebIngress

@testable import CarillonRouter
@testable import Operations
@testable import RouterConfiguration

/// The ingress with a registry and an outbox. Without a plugin, kept pushes wait.
@Suite final class SealedIngressTests {
    private static let token = String(repeating: "ab", count: 32)

    private let folder: String
    private var configuration: RouterConfiguration.Configuration

    init() throws {
        folder = NSTemporaryDirectory() + "carillon-ingress-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        configuration = RouterConfiguration.Configuration(
            keyFile: folder + "/carillon.key",
            storePath: folder + "/carillon.sqlite"
        )
        configuration.relay.port = 0
        configuration.sealedIngress = RouterConfiguration.Configuration.SealedIngress()
        configuration.sealedIngress?.web.port = 0
        configuration.apps["default"] = RouterConfiguration.Configuration.App(
            platforms: ["ios": RouterConfiguration.Configuration.PlatformBlock(json: "{}", line: 0)]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Runs a router, and stops it after `body`.
    private func run(_ body: (Router) async throws -> Void) async throws {
        let router = try Router(
            configuration: configuration,
            platforms: KnownPlatforms(.builtIn),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let (starts, started) = AsyncStream.makeStream(of: Void.self)
        let running = Task {
            defer { started.finish() }
            try await router.run(started: { _ in started.yield() })
        }
        for await _ in starts {
            do {
                try await body(router)
            } catch {
                Issue.record(error)
            }
            running.cancel()
        }
        try await running.value
    }

    private func status(_ router: Router, _ method: String, _ target: String, _ body: [UInt8] = []) async throws -> Int
    {
        let port = try #require(router.sealedIngressPort)
        let request = HTTPRequest(method: method, url: "http://127.0.0.1:\(port)\(target)", body: body)
        let response: HTTPResponse = try await withCheckedThrowingContinuation { continuation in
            router.plane.outgoing.lanes.send(request) { continuation.resume(with: $0) }
        }
        return response.status
    }

    /// Returns the device and id of each delivery in the outbox.
    private func deliveries() throws -> [(device: Int64, id: DeliveryID)] {
        try DatabaseQueue(path: configuration.store.outboxPath).read {
            try Row.fetchAll($0, sql: "SELECT device, id FROM outbox_delivery").map {
                ($0[0], try #require(DeliveryID($0[1])))
            }
        }
    }

    private func change(_ sql: String) throws {
        try DatabaseQueue(path: configuration.store.outboxPath).write { try $0.execute(sql: sql) }
    }

    @Test func aPushIsOnDiskWhenItIsAccepted() async throws {
        try await run { router in
            #expect(try await status(router, "GET", "/") == 200)
            #expect(try await status(router, "POST", "/push/\(Self.token)/alice?sandbox=true", [1, 2, 3]) == 202)
            #expect(try await status(router, "POST", "/push/\(Self.token)/bob?sandbox=true") == 202)
            let kept = try deliveries()
            let devices = Set(kept.map(\.device))
            #expect(kept.count == 2 && devices.count == 1 && Set(kept.map(\.id)).count == 2)
            let device = try #require(devices.first.map(DeviceID.init(rawValue:)))
            let address = try RegisteredDevices(registry: router.plane.stores.registry).address(of: device)
            #expect(address?.token == Self.token && address?.fields == ["environment": "sandbox"])
            let bytes = try Data(contentsOf: URL(fileURLWithPath: configuration.store.outboxPath))
            #expect(bytes.range(of: Data(Self.token.utf8)) == nil)
        }
        // The pushes survive a restart, and so does their count.
        try await run { router in
            #expect(router.plane.deliveries.courier.waiting == 2)
        }
    }

    @Test func sendersAreAskedToRetryFromHalfOfTheQueuesShareOn() async throws {
        configuration.store.maxWaiting = 16
        try await run { router async throws in
            #expect(try await status(router, "POST", "/push/\(Self.token)/alice") == 202)
            #expect(try await status(router, "POST", "/push/\(Self.token)/bob") == 202)
            #expect(try await status(router, "POST", "/push/\(Self.token)/carol") == 503)
            // Events use the other half.
            let ios = QueueName(platform: "ios", app: "default")
            #expect(router.plane.deliveries.courier.capacity.take(for: DeviceID(rawValue: 1), of: ios))
        }
        // A start counts the waiting pushes again.
        try await run { router async throws in
            #expect(try await status(router, "POST", "/push/\(Self.token)/carol") == 503)
        }
    }

    @Test func goneTokenStaysGone() async throws {
        try await run { router in
            let directory = RegisteredDevices(registry: router.plane.stores.registry)
            #expect(try await status(router, "POST", "/push/\(Self.token)/alice") == 202)
            let token = IngressToken(token: Self.token, isSandbox: false, app: "default", platform: "ios")
            guard case .admitted(let device) = try router.plane.stores.registry.admit([token]).first else {
                Issue.record("not admitted")
                return
            }
            try directory.removeGone(device, registeredAt: 0)
            #expect(try directory.address(of: device) == nil)
            #expect(try await status(router, "POST", "/push/\(Self.token.uppercased())/bob") == 410)
            #expect(try await status(router, "POST", "/push/\(Self.token)/bob?sandbox=true") == 202)
        }
        try await run { router async throws in
            #expect(try await status(router, "POST", "/push/\(Self.token)/bob") == 410)
        }
    }

    @Test func sendersRetryIfTheDiskRefuses() async throws {
        try await run { router in
            try change("ALTER TABLE outbox_delivery RENAME TO hidden")
            #expect(try await status(router, "POST", "/push/\(Self.token)/alice") == 503)
            try change("ALTER TABLE hidden RENAME TO outbox_delivery")
            #expect(try await status(router, "POST", "/push/\(Self.token)/alice") == 202)
        }
    }

    @Test func takenPortEndsTheStart() async throws {
        let taken = try LoopbackPort(isListening: true)
        configuration.sealedIngress?.web.port = taken.number
        let router = try Router(
            configuration: configuration,
            platforms: KnownPlatforms(.builtIn),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        let error = await #expect(throws: RouterError.self) { try await router.run() }
        #expect(error?.description.hasPrefix("sealed_ingress.listen: cannot listen on 127.0.0.1:") == true)
    }

    @Test func environmentErrorsEndTheStart() throws {
        configuration.environment = Configuration.Environment()
        configuration.apps["default"] = RouterConfiguration.Configuration.App(
            platforms: ["ios": RouterConfiguration.Configuration.PlatformBlock(json: "{}", line: 0)]
        )
        let error = #expect(throws: (any Error).self) {
            try Router(
                configuration: configuration,
                platforms: KnownPlatforms(.builtIn),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }
        #expect("\(error.map { "\($0)" } ?? "")".hasPrefix("environment: "))
    }

    @Test func environmentErrorNamesItsVariable() throws {
        configuration.environment = Configuration.Environment()
        configuration.http.caFile = folder + "/missing.pem"
        let error = #expect(throws: Diagnostics.self) {
            try Router(
                configuration: configuration,
                platforms: KnownPlatforms(.builtIn),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }
        #expect(error?.all.map(\.file) == ["CARILLON_CA_FILE"])
        configuration.http.caFile = nil
        let lock = try StoreLock(store: configuration.store.path)
        let inUse = #expect(throws: Diagnostics.self) {
            try Router(
                configuration: configuration,
                platforms: KnownPlatforms(.builtIn),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            )
        }
        #expect(inUse?.all.map(\.file) == ["STATE_DIRECTORY"])
        withExtendedLifetime(lock) {}
    }

    @Test func aClientWhoseTokensAreRefusedLosesItsAllowance() async throws {
        try await run { router in
            let trials = TokenTrials(now: Timestamp.now)
            let backend = try #require(
                SealedIngressBackend(
                    router.plane.environment,
                    IngressPlatform(name: "ios", block: "{}", limit: .kibibytes(4)),
                    registry: router.plane.stores.registry,
                    courier: router.plane.deliveries.courier,
                    trials: trials
                )
            )
            func push(_ number: Int, from address: String) -> IngressPush {
                let hex = String(number, radix: 16)
                return IngressPush(
                    deviceToken: String(repeating: "0", count: 64 - hex.count) + hex,
                    isSandbox: false,
                    notification: Notification(mode: .wake, signal: .dm),
                    client: ClientAddress(peer: address, forwardedFor: [], isTrustedProxy: { _ in false })
                )
            }
            #expect(backend.keep((1...30).map { push($0, from: "192.0.2.1") }).allSatisfy { $0 == .queued })
            let reports = try deliveries().map { row in
                DeliveryReport(
                    delivery: row.id,
                    device: DeviceID(rawValue: row.device),
                    queue: QueueName(platform: "ios", app: "default"),
                    kind: .rejected,
                    status: 400,
                    reason: "BadDeviceToken",
                    attempt: 1
                )
            }
            #expect(reports.count == 30)
            trials.deliveriesReported(reports)
            let mixed = [push(31, from: "192.0.2.1"), push(32, from: "192.0.2.2"), push(33, from: "192.0.2.1")]
            #expect(backend.keep(mixed) == [.mistrusted, .queued, .mistrusted])
            // A proxy on this machine may forward requests of all clients.
            #expect(backend.keep([push(34, from: "127.0.0.1")]) == [.queued])
        }
    }
}
