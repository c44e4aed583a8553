import Core
import Listeners
import Nostr
import Synchronization
import Testing
import TimeTestSupport

@testable import RelayServer

/// A client's limits over all its connections.
@Suite struct ClientLimitTests {
    private static let isThisMachine: @Sendable (String) -> Bool = { $0 == "127.0.0.1" }
    private let now: Timestamp = 1_700_000_000_000

    private func client(_ address: String) throws -> ClientAddress {
        try #require(ClientAddress(peer: address, forwardedFor: []) { _ in false })
    }

    private func connection(
        of address: String,
        in tables: ClientTables,
        _ limits: RelayServerConfiguration.Limits,
        _ counts: LimitCounts = LimitCounts()
    ) throws -> RelayConnection {
        RelayConnection(
            limits: limits,
            ClientAuthentication(url: "", challenge: "word"),
            share: ClientShare(of: try client(address), in: tables),
            counts: counts,
            now: now
        )
    }

    private func isRefusedForSpeed(_ action: RelayConnection.Action) -> Bool {
        guard case .send(let messages) = action else { return false }
        return messages.contains { String(decoding: $0.json, as: UTF8.self).contains("rate-limited: slow down") }
    }

    @Test func connectionsOfOneClientShareItsMessages() throws {
        var limits = RelayServerConfiguration.Limits()
        limits.clientBurst = 3
        limits.messagesPerClientPerSecond = 1
        let tables = ClientTables(limits)
        var connections = try (0..<4).map { _ in try connection(of: "203.0.113.7", in: tables, limits) }
        let request = Array(#"["REQ","s",{}]"#.utf8)
        let refused = connections.indices.map { isRefusedForSpeed(connections[$0].receive(request, now: now)) }
        #expect(refused == [false, false, false, true])
        var other = try connection(of: "203.0.113.8", in: tables, limits)
        #expect(!isRefusedForSpeed(other.receive(request, now: now)))
        #expect(!isRefusedForSpeed(connections[3].receive(request, now: now + .seconds(1))))
    }

    @Test func bytesCountAsMessagesDo() throws {
        var limits = RelayServerConfiguration.Limits()
        limits.messageBytes = ByteCount(4_000)
        limits.bytesPerClientPerSecond = 1_000
        let tables = ClientTables(limits)
        var connection = try connection(of: "2001:db8::1", in: tables, limits)
        let request = Array(#"["REQ","s",{"x":"\#(String(repeating: "a", count: 3_000))"}]"#.utf8)
        let refused = (0..<3).map { _ in isRefusedForSpeed(connection.receive(request, now: now)) }
        #expect(refused == [false, false, true])
        // All of one network of 64 bits are one client.
        var neighbour = try self.connection(of: "2001:db8::ffff", in: tables, limits)
        #expect(isRefusedForSpeed(neighbour.receive(request, now: now)))
        #expect(!isRefusedForSpeed(neighbour.receive(request, now: now + .seconds(4))))
    }

    @Test func pingsCountTowardsTheMessageLimit() throws {
        var limits = RelayServerConfiguration.Limits()
        limits.messageBytes = ByteCount(100)
        limits.bytesPerClientPerSecond = 100
        limits.clientBurst = 10
        let tables = ClientTables(limits)
        var pinging = try connection(of: "203.0.113.7", in: tables, limits)
        var asking = try connection(of: "203.0.113.7", in: tables, limits)
        let request = Array(#"["REQ","s",{}]"#.utf8)
        // 800 bytes in one burst.
        for _ in 0..<6 { #expect(pinging.receive(controlFrameOf: 125, now: now) == .nothing) }
        #expect(!isRefusedForSpeed(asking.receive(request, now: now)))
        #expect(pinging.receive(controlFrameOf: 125, now: now) == .nothing)
        for _ in 0..<3 { _ = asking.receive(controlFrameOf: 0, now: now) }
        #expect(isRefusedForSpeed(asking.receive(request, now: now)))
    }

    @Test func registrationsAreCountedOverConnections() throws {
        var limits = RelayServerConfiguration.Limits()
        limits.registrationBurst = 1
        limits.registrationsPerSecond = 1
        let tables = ClientTables(limits)
        var first = try connection(of: "203.0.113.7", in: tables, limits)
        var second = try connection(of: "203.0.113.7", in: tables, limits)
        let digits = String(repeating: "0a", count: 32)
        let event = #"{"id":"\#(digits)","pubkey":"\#(digits)","created_at":1,"kind":10062,"tags":[],"content":"","#
        let message = Array(#"["EVENT",\#(event)"sig":"\#(digits)\#(digits)"}]"#.utf8)
        #expect(!isRefusedForSpeed(first.receive(message, now: now)))
        #expect(isRefusedForSpeed(second.receive(message, now: now)))
    }

    @Test func refusedMessagesAreCountedByLimit() throws {
        var limits = RelayServerConfiguration.Limits()
        limits.burst = 3
        limits.messagesPerSecond = 1
        limits.clientBurst = 4
        limits.messageBytes = ByteCount(16)
        limits.bytesPerClientPerSecond = 2
        let tables = ClientTables(limits)
        let counts = LimitCounts(RelayServer.clientLimits)
        var first = try connection(of: "203.0.113.7", in: tables, limits, counts)
        var second = try connection(of: "203.0.113.7", in: tables, limits, counts)
        let digits = String(repeating: "0a", count: 32)
        let registration =
            #"{"id":"\#(digits)","pubkey":"\#(digits)","created_at":1,"kind":10062,"tags":[],"content":"","#
        _ = first.receive(controlFrameOf: 16, now: now)
        #expect(
            counts.refused.values.allSatisfy { $0 == 0 } && Set(counts.refused.keys) == Set(RelayServer.clientLimits)
        )
        _ = first.receive(controlFrameOf: 1, now: now)
        #expect(counts.refused[.bytes] == 1)
        for _ in 0..<2 { _ = first.receive(controlFrameOf: 0, now: now) }
        #expect(counts.refused[.messages] == 1)
        for _ in 0..<2 { _ = second.receive(controlFrameOf: 0, now: now) }
        #expect(counts.refused[.messages] == 2)
        var without = RelayServerConfiguration.Limits()
        without.registrationBurst = 0
        var other = try connection(of: "203.0.113.8", in: ClientTables(without), without, counts)
        _ = other.receive(Array(#"["EVENT",\#(registration)"sig":"\#(digits)\#(digits)"}]"#.utf8), now: now)
        #expect(counts.refused[.registrations] == 1 && counts.refused.values.reduce(0, +) == 4)
    }

    /// `trusted_proxies` is documented this way: all clients may be behind the proxy.
    @Test func proxyWithoutAClientAddressIsExemptFromClientLimits() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.registrationBurst = 0
        limits.clientBurst = 0
        let proxy = ClientAddress(peer: "10.1.2.3", forwardedFor: []) { $0 == "10.1.2.3" }
        var connection = RelayConnection(
            limits: limits,
            ClientAuthentication(url: "", challenge: "word"),
            share: ClientShare(of: proxy, in: ClientTables(limits)),
            now: now
        )
        let digits = String(repeating: "0a", count: 32)
        let event = #"{"id":"\#(digits)","pubkey":"\#(digits)","created_at":1,"kind":10062,"tags":[],"content":"","#
        for _ in 0..<3 {
            let message = Array(#"["EVENT",\#(event)"sig":"\#(digits)\#(digits)"}]"#.utf8)
            #expect(!isRefusedForSpeed(connection.receive(message, now: now)))
        }
    }

    @Test func connectionsAreCountedWhenAccepted() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.connectionsPerClient = 1
        limits.openingsPerClientPerMinute = 2
        let counts = LimitCounts(RelayServer.clientLimits)
        try await ServedRelay.run(limits: limits, counts: counts, isTrustedProxy: Self.isThisMachine) { port, _ in
            let client = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
            for _ in 0..<2 {
                await #expect(throws: (any Error).self) {
                    _ = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
                }
            }
            #expect(counts.refused[.connections] == 1 && counts.refused[.openings] == 1)
            #expect(counts.openConnections >= 1)
            try await client.close()
        }
    }

    @Test func blockedAddressesAreRefusedAndDisconnected() async throws {
        let counts = LimitCounts(RelayServer.clientLimits)
        let blocked = Mutex<String?>(nil)
        let isBlocked: @Sendable (String) -> Bool = { address in blocked.withLock { $0 == address } }
        try await ServedRelay.run(counts: counts, isTrustedProxy: Self.isThisMachine, isBlocked: isBlocked) {
            port,
            server in
            var client = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
            let other = try await WebSocketClient(port: port, forwardedFor: "203.0.113.8")
            blocked.withLock { $0 = "203.0.113.7" }
            server.endBlockedConnections()
            while await client.next() != nil {}
            await #expect(throws: (any Error).self) {
                _ = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
            }
            #expect(counts.refused[.blocked] == 2)
            try await other.close()
        }
    }

    @Test func idleConnectionIsNotifiedAndClosedWhenFull() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.connections = 2
        let counts = LimitCounts(RelayServer.clientLimits)
        let clock = ManualClock()
        try await ServedRelay.run(limits: limits, counts: counts, now: clock.now) { port, _ in
            var idle = try await WebSocketClient(port: port)
            var busy = try await WebSocketClient(port: port)
            #expect(await idle.nextText().contains("AUTH"))
            #expect(await busy.nextText().contains("AUTH"))
            clock.advance(by: ConnectionSlots<Int>.idleAfter)
            try await busy.send(#"["REQ","s",{"kinds":[10067]}]"#)
            #expect(await busy.nextText().contains("EOSE"))
            var newcomer = try await WebSocketClient(port: port)
            #expect(await newcomer.nextText().contains("AUTH"))
            #expect(await idle.nextText().contains(#"["NOTICE","rate-limited: too many connections are open"#))
            #expect(await idle.next() == .closed(1013))
            #expect(counts.refused[.idle] == 1 && counts.refused[.connections] == 0)
            // No other client is idle.
            await #expect(throws: (any Error).self) { _ = try await WebSocketClient(port: port) }
            #expect(counts.refused[.connections] == 1)
            try await busy.close()
            try await newcomer.close()
        }
    }

    @Test(arguments: ["127.0.0.1", "::1", "::ffff:127.0.0.1"])
    func loopbackHasNoClientLimit(address: String) throws {
        #expect(ClientShare(of: try client(address), in: ClientTables(RelayServerConfiguration.Limits())) == nil)
    }

    @Test func aProxysClientHasItsOwnConnections() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.connectionsPerClient = 1
        try await ServedRelay.run(limits: limits, isTrustedProxy: Self.isThisMachine) { port, _ in
            let first = try await WebSocketClient(port: port, forwardedFor: "192.0.2.1, 203.0.113.7")
            await #expect(throws: (any Error).self) {
                _ = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
            }
            let other = try await WebSocketClient(port: port, forwardedFor: "203.0.113.8")
            try await first.close()
            try await first.ended()
            try await other.close()
        }
    }

    @Test func connectionRatePerClientIsLimited() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.openingsPerClientPerMinute = 2
        try await ServedRelay.run(limits: limits, isTrustedProxy: Self.isThisMachine) { port, _ in
            for _ in 0..<2 {
                let client = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
                try await client.close()
            }
            await #expect(throws: (any Error).self) {
                _ = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
            }
        }
    }

    @Test func untrustedForwardedHeadersAreIgnored() async throws {
        var limits = RelayServerConfiguration.Limits()
        limits.connectionsPerClient = 1
        try await ServedRelay.run(limits: limits) { port, _ in
            let first = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
            let second = try await WebSocketClient(port: port, forwardedFor: "203.0.113.7")
            try await first.close()
            try await second.close()
        }
    }
}
