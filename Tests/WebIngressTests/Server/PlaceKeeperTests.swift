import Core
import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTPTypes
import Testing
import TimeTestSupport

@testable import Listeners

struct PlaceKeeperTests {
    private let loop = EmbeddedEventLoop()

    private func channel(_ place: PlaceKeeper.Place? = .usual) throws -> EmbeddedChannel {
        let keeper = PlaceKeeper(
            headTimeout: .seconds(10),
            mayUseReserve: { $0 == "/healthz" },
            now: { 0 },
            admit: { _, _ in place }
        )
        let channel = EmbeddedChannel(handler: keeper, loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
        return channel
    }

    private func head(_ path: String) -> HTTPRequestPart {
        .head(HTTPRequest(method: .get, scheme: "http", authority: "a", path: path))
    }

    @Test func aClientHasTenSecondsForItsFirstHeader() throws {
        let (silent, slow) = (try channel(), try channel())
        loop.advanceTime(by: .seconds(9))
        try slow.writeInbound(head("/"))
        loop.advanceTime(by: .seconds(1))
        #expect(!silent.isActive && slow.isActive)
        loop.advanceTime(by: .hours(1))
        #expect(slow.isActive)
        _ = try slow.finish()
    }

    @Test func connectionWithoutASlotIsClosed() throws {
        let channel = try channel(nil)
        loop.run()
        #expect(!channel.isActive)
    }

    @Test func reserveIsForSomeRequestsOnly() throws {
        let good = try channel(.reserve)
        try good.writeInbound(head("/healthz?verbose"))
        #expect(try good.readInbound(as: HTTPRequestPart.self) != nil)
        #expect(try good.readOutbound(as: HTTPResponsePart.self) == nil && good.isActive)
        _ = try good.finish()
        let other = try channel(.reserve)
        try other.writeInbound(head("/v1/status"))
        #expect(try other.readInbound(as: HTTPRequestPart.self) == nil)
        guard case .head(let response)? = try other.readOutbound(as: HTTPResponsePart.self) else {
            Issue.record("no response")
            return
        }
        #expect(response.status == .serviceUnavailable && response.headerFields[.retryAfter] == "1")
        loop.run()
        #expect(!other.isActive)
    }

    /// A connection is busy only from its whole request to the end of the response.
    @Test func aConnectionKeepsItsPlaceWhileARequestIsInWork() throws {
        var places = ConnectionSlots<Int>(
            counts: ConnectionCounts(limit: 1, limitPerAddress: 9, now: 0),
            idleAfter: .zero
        )
        let admit = { (_: any Channel, activity: SocketActivity) -> PlaceKeeper.Place? in
            _ = places.admit(nil, 1, activity, now: 0)
            return .usual
        }
        let keeper = PlaceKeeper(headTimeout: .seconds(10), mayUseReserve: { _ in false }, now: { 0 }, admit: admit)
        let channel = EmbeddedChannel(handler: keeper, loop: loop)
        try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 80)).wait()
        func givesWay() -> Bool {
            var copy = places
            guard case .admitted = copy.admit(nil, 2, SocketActivity(now: 0), now: 0) else { return false }
            return true
        }
        #expect(givesWay())
        try channel.writeInbound(head("/"))
        try channel.writeInbound(HTTPRequestPart.body(ByteBuffer(string: "part")))
        #expect(givesWay())
        try channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(!givesWay())
        try channel.writeOutbound(HTTPResponsePart.head(HTTPResponse(status: .continue)))
        #expect(!givesWay())
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        #expect(givesWay())
        // A response that comes before its request has ended.
        try channel.writeInbound(head("/"))
        try channel.writeOutbound(HTTPResponsePart.end(nil))
        try channel.writeInbound(HTTPRequestPart.end(nil))
        #expect(givesWay())
        _ = try channel.finish()
    }
}
