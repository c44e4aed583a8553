import Core
import Dispatch
import GRDB
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Push
import Testing

@testable import Delivery
@testable import HTTPClient

/// Courier and outgoing HTTP together: failures of one app do not affect the others.
@Suite(.timeLimit(.minutes(3))) struct IsolationTests {
    @Test func hangingHostsHangingNamesAndFailingServersDoNotDelayOthers() async throws {
        let silent = try await LoopbackServer(status: nil)
        let angry = try await LoopbackServer(status: 503)
        let good = try await LoopbackServer(status: 200)
        let release = DispatchSemaphore(value: 0)
        let lookups = NIOLockedValueBox(0)
        let names = ThreadedLookup { _, _ in
            lookups.withLockedValue { $0 += 1 }
            release.wait()
            release.signal()
            return []
        }
        let log = Logger(label: "isolation") { _ in SwiftLogNoOpLogHandler() }
        let lanes = try HTTPLanes(
            configuration: .init(allowPrivate: ["127.0.0.0/8"]),
            group: .singletonMultiThreadedEventLoopGroup,
            logger: log,
            names: NameLookups(operators: names.lookUp, users: names.lookUp)
        )

        // Each device has a separate host, because limits for a host do not stop an attacker with many hosts.
        var devices = Devices()
        let now = Timestamp.now()
        let harm =
            devices.add(600, app: "hanging", url: { Self.url(net: 1, $0, silent.port) }, now: now)
            + devices.add(200, app: "nameless", url: { "https://hangs-\($0).example/up" }, now: now)
            + devices.add(600, app: "angry", url: { Self.url(net: 2, $0, angry.port) }, now: now)
        let calm = devices.add(600, app: "calm", url: { Self.url(net: 3, $0, good.port) }, now: now)

        let transports = Dictionary(
            uniqueKeysWithValues: ["hanging", "nameless", "angry", "calm"].map {
                ($0, LanesTransport(sender: lanes.share()))
            }
        )
        let tally = Tally()
        let courier = try Courier(
            CourierEnvironment(
                store: try Outbox(DatabaseQueue()),
                directory: devices,
                observer: tally,
                now: Timestamp.now,
                alarm: DispatchAlarm(now: Timestamp.now),
                host: { URLParts($0.token)?.origin.host },
                transport: { transports[$0.app] }
            ),
            policy: RetryPolicy(base: .milliseconds(10), cap: .milliseconds(50)),
            log: log
        )
        courier.start()
        try courier.accept(harm)
        await silent.connections(128)
        await tally.wait { $0["angry"]?.retries ?? 0 >= 600 }
        while lookups.withLockedValue({ $0 }) < 100 { try await Task.sleep(for: .milliseconds(1)) }

        try courier.accept(calm)
        await tally.wait { $0["calm"]?.delivered == 600 }

        #expect(tally["calm"].retries == 0)
        #expect(tally["hanging"].delivered + tally["nameless"].delivered + tally["angry"].delivered == 0)
        let hanging = courier.status.first { $0.queue.app == "hanging" }
        // Requests without an outcome for a while free their places for others.
        #expect((500...600).contains(hanging?.inFlight ?? 0))
        // Ends are reported before they are on disk.
        while courier.waiting > 1_400 { try await Task.sleep(for: .milliseconds(1)) }
        #expect(courier.waiting == 1_400)

        release.signal()
        await courier.shutdown(deadline: Timestamp.now())
        await lanes.shutdown()
        for server in [silent, angry, good] { await server.stop() }
    }

    private static func url(net: Int, _ number: Int, _ port: Int) -> String {
        "http://127.\(net).\(number / 250).\(1 + number % 250):\(port)/up"
    }
}
