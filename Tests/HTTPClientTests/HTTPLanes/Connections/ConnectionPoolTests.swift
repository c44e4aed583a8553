import Core
import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing

@testable import HTTPClient

struct ConnectionPoolTests {
    private let network = ScriptedNetwork()
    private let answers = Answers()

    private func pool(originLimit: Int = 8, connectionsPerOrigin: Int = 4) -> ConnectionPool {
        var settings = ConnectionSettings()
        settings.connectionsPerOrigin = connectionsPerOrigin
        return ConnectionPool(
            group: network.loop,
            surroundings: network.surroundings(settings),
            originLimit: originLimit,
            now: { [network] in network.loop.time }
        )
    }

    @discardableResult
    private func send(
        _ number: Int,
        to host: String = "push.example",
        isUsers: Bool = false,
        scope: ConnectionScope? = nil,
        through pool: ConnectionPool
    ) throws -> Bool {
        let url = try #require(URLParts("https://\(host)/\(number)"))
        let request = HTTPRequest(
            method: "POST",
            url: url.normalized,
            multiplexed: true,
            untrustedURL: isUsers,
            scope: scope
        )
        let exchange = Exchange(request: request, url: url, deadline: .distantFuture) { [answers] in
            answers.record(number, $0)
        }
        defer { network.settle() }
        return pool.send(exchange)
    }

    private func finish() {
        for exchange in network.handedOver.withLockedValue({ $0 }) {
            exchange.fail(.shutdown, mayHaveBeenProcessed: false)
        }
    }

    @Test func scopesAndUsersURLsNeverShareAConnection() throws {
        let pool = pool()
        let (one, other) = (ConnectionScope(), ConnectionScope())
        try send(1, through: pool)
        try send(2, scope: one, through: pool)
        try send(3, scope: other, through: pool)
        try send(4, isUsers: true, through: pool)
        try send(5, scope: one, through: pool)
        #expect(network.connections.map { $0.peer.requests.count } == [1, 2, 1, 1])
    }

    @Test func aRetiredScopeFinishesAndCloses() throws {
        let pool = pool()
        let scope = ConnectionScope()
        try send(1, scope: scope, through: pool)
        pool.retire(scope)
        network.settle()
        #expect(pool.origins == 0)
        #expect(network.connections[0].channel.isActive)
        network.connections[0].peer.answer(1)
        network.settle()
        #expect(answers.status(1) == 200)
        #expect(!network.connections[0].channel.isActive)
    }

    @Test func idleConnectionOfARetiredScopeClosesImmediately() throws {
        let pool = pool()
        let scope = ConnectionScope()
        try send(1, scope: scope, through: pool)
        network.connections[0].peer.answer(1)
        network.settle()
        scope.retire()
        pool.retire(scope)
        network.settle()
        #expect(!network.connections[0].channel.isActive)
        // A late request is served, and its connection is closed afterwards.
        try send(2, scope: scope, through: pool)
        network.connections[1].peer.answer(1)
        network.settle()
        #expect(answers.status(2) == 200)
        #expect(!network.connections[1].channel.isActive)
        #expect(pool.origins == 0)
    }

    @Test func queuedRequestsOfARetiredScopeAreStillSent() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 1) }
        let pool = pool(connectionsPerOrigin: 1)
        let scope = ConnectionScope()
        for number in 1...3 { try send(number, scope: scope, through: pool) }
        pool.retire(scope)
        for stream in [1, 3, 5] as [Int32] {
            network.settle()
            network.connections[0].peer.answer(stream)
        }
        network.settle()
        #expect((1...3).map { answers.status($0) } == [200, 200, 200])
        #expect(!network.connections[0].channel.isActive)
    }

    @Test func originsUnusedForAMinuteAreEvicted() throws {
        let pool = pool(originLimit: 2)
        try send(1, to: "one.example", through: pool)
        try send(2, to: "two.example", through: pool)
        try send(3, to: "three.example", through: pool)
        #expect(network.handedOver.withLockedValue { $0.count } == 1)
        network.pass(.seconds(59))
        try send(4, to: "two.example", through: pool)
        network.pass(.seconds(1))
        try send(5, to: "three.example", through: pool)
        #expect(network.connections.count == 3)
        // Its requests in flight are finished first.
        #expect(network.connections[0].channel.isActive)
        network.connections[0].peer.answer(1)
        network.settle()
        #expect(answers.status(1) == 200)
        #expect(!network.connections[0].channel.isActive)
        try send(6, to: "one.example", through: pool)
        #expect(network.handedOver.withLockedValue { $0.count } == 2)
        finish()
    }

    @Test func hundredsOfOriginsAreServed() throws {
        let pool = pool(originLimit: 256)
        for round in 0..<4 {
            for number in 0..<256 {
                try send(round * 256 + number, to: "r\(round)-\(number).example", through: pool)
            }
            network.pass(ConnectionPoolTests.aMinute)
        }
        #expect(network.handedOver.withLockedValue { $0.isEmpty })
        #expect(pool.origins == 256)
    }

    @Test func usersOriginsDoNotCrowdOutTheOperators() throws {
        let pool = pool(originLimit: 8)
        for number in 1...20 { try send(number, to: "user-\(number).example", isUsers: true, through: pool) }
        #expect(pool.origins == 6)
        #expect(network.handedOver.withLockedValue { $0.count } == 14)
        try send(21, to: "push.example", through: pool)
        try send(22, to: "fcm.example", through: pool)
        #expect(network.handedOver.withLockedValue { $0.count } == 14)
        network.pass(ConnectionPoolTests.aMinute)
        try send(23, to: "user-21.example", isUsers: true, through: pool)
        #expect(pool.origins == 8)
        #expect(network.handedOver.withLockedValue { $0.count } == 14)
        finish()
    }

    @Test func originUnusedForHoursIsForgotten() throws {
        let pool = pool()
        try send(1, to: "one.example", through: pool)
        network.connections[0].peer.answer(1)
        network.settle()
        network.pass(ConnectionSettings().idleTimeout)
        try send(2, to: "two.example", through: pool)
        #expect(pool.origins == 1)
    }

    @Test func shutdownClosesRetiringConnections() throws {
        let pool = pool()
        let scope = ConnectionScope()
        try send(1, scope: scope, through: pool)
        pool.retire(scope)
        network.settle()
        #expect(pool.beginShutDown().count == 1)
        network.settle()
        #expect(answers.failure(1)?.reason == .shutdown)
        #expect(try !send(2, through: pool))
    }

    private static let aMinute: Duration = .minutes(1)
}
