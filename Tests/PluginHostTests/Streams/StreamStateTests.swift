import Core
import Testing
import TimeTestSupport

@testable import PluginHost

/// The results of each event of a stream.
@Suite struct StreamStateTests {
    private func plain(connect: Duration = .seconds(30), idle: Duration = .minutes(5)) -> StreamState {
        StreamState(StreamTarget(host: "h", port: 1, connectTimeout: connect, idleTimeout: idle), now: 0)
    }

    private func open() -> StreamState {
        var state = plain()
        _ = state.connected(now: 0)
        return state
    }

    // MARK: Opening

    @Test func plainStreamOpensWhenConnected() {
        var state = plain()
        #expect(state.connected(now: 5) == [.opened])
        #expect(state.connected(now: 6) == [])
    }

    @Test func tlsStreamOpensAfterTheHandshake() {
        var state = StreamState(StreamTarget(host: "h", port: 1, usesTLS: true), now: 0)
        #expect(state.connected(now: 5) == [.secure])
        #expect(state.secured(now: 6) == [.opened])
        #expect(state.received([1], now: 7) == [.deliver([1])])
    }

    @Test func writingBeforeWaits() {
        var state = plain()
        #expect(state.write([1], now: 0) == [])
        #expect(state.write([2], now: 0) == [])
        #expect(state.connected(now: 5) == [.opened, .send([1]), .send([2])])
    }

    @Test func serverGreetingWaitsForTheTunnel() {
        var state = plain()
        #expect(state.received([1], now: 0) == [])
        #expect(state.connected(now: 5) == [.opened, .deliver([1])])
    }

    @Test func failureBeforeOpeningIsFinal() {
        var state = plain()
        #expect(state.failed(.unresolved) == [.end(.unresolved)])
        #expect(state.connected(now: 1) == [] && state.failed(.reset) == [] && state.write([1], now: 2) == [])
        #expect(state.hasEnded && state.nextDeadline == nil)
    }

    @Test func otherSideClosesBeforeItIsOpen() {
        var state = StreamState(StreamTarget(host: "h", port: 1, usesTLS: true), now: 0)
        _ = state.connected(now: 0)
        #expect(state.channelClosed() == [.end(.closed)])
    }

    // MARK: Bytes

    @Test func allSentBytesAreAcknowledged() {
        var state = open()
        #expect(state.write([1, 2, 3], now: 1) == [.send([1, 2, 3])])
        #expect(state.write([4], now: 1) == [.send([4])])
        #expect(state.sent(3, now: 2) == [.acknowledge(3)])
        #expect(state.sent(1, now: 2) == [.acknowledge(4)])
    }

    @Test func otherSideMayClose() {
        var state = open()
        #expect(state.channelClosed() == [.end(nil)])
        #expect(state.received([1], now: 1) == [])
    }

    // MARK: STARTTLS

    @Test func startTLSFollowsWrittenData() {
        var state = open()
        #expect(state.write([1], now: 0) == [.send([1])])
        #expect(state.startTLS(now: 0) == [.secure])
        #expect(state.write([2], now: 0) == [])
        #expect(state.sent(1, now: 1) == [.acknowledge(1)])
        #expect(state.secured(now: 2) == [.opened, .send([2])])
        #expect(state.received([3], now: 3) == [.deliver([3])])
    }

    @Test func startTLSBeforeTheConnection() {
        var state = plain()
        #expect(state.write([1], now: 0) == [] && state.startTLS(now: 0) == [])
        #expect(state.connected(now: 1) == [.opened, .send([1]), .secure])
    }

    @Test func clearTextAfterStartTLSIsAnInjection() {
        var state = open()
        _ = state.startTLS(now: 0)
        #expect(state.received([1], now: 1) == [.end(.tls)])
    }

    @Test func clearTextBeforeTheTLSConnectionIsAnInjection() {
        for usesTLS in [true, false] {
            var state = StreamState(StreamTarget(host: "h", port: 1, usesTLS: usesTLS), now: 0)
            _ = state.startTLS(now: 0)
            #expect(state.received([1], now: 1) == [.end(.tls)])
        }
        var state = plain()
        _ = state.received([1], now: 0)
        _ = state.startTLS(now: 0)
        #expect(state.connected(now: 1) == [.end(.tls)])
    }

    @Test func secondStartTLSIsIgnored() {
        var state = open()
        #expect(state.startTLS(now: 0) == [.secure])
        #expect(state.startTLS(now: 0) == [])
        #expect(state.secured(now: 1) == [.opened])
        #expect(state.startTLS(now: 2) == [])
    }

    // MARK: Closing

    @Test func closeFlushesBufferedData() {
        var state = open()
        _ = state.write([1, 2], now: 0)
        #expect(state.close(now: 1) == [])
        #expect(state.write([3], now: 1) == [])
        #expect(state.received([9], now: 1) == [])
        #expect(state.sent(2, now: 2) == [.acknowledge(2), .shut])
        #expect(state.channelClosed() == [.end(nil)])
    }

    @Test func closingWithNothingToSend() {
        var state = open()
        #expect(state.close(now: 1) == [.shut])
        #expect(state.close(now: 1) == [])
        #expect(state.failed(.reset) == [.end(nil)])
    }

    @Test func closingBeforeTheConnection() {
        var state = plain()
        #expect(state.close(now: 1) == [.end(nil)])
        state = plain()
        _ = state.write([1], now: 0)
        #expect(state.close(now: 1) == [])
        #expect(state.connected(now: 2) == [.opened, .send([1])])
        #expect(state.sent(1, now: 3) == [.acknowledge(1), .shut])
    }

    @Test func closeTimesOutAfterFiveSeconds() {
        var state = open()
        _ = state.write([1], now: 0)
        _ = state.close(now: 1_000)
        #expect(state.nextDeadline == 6_000)
        #expect(state.tick(now: 5_999) == [])
        #expect(state.tick(now: 6_000) == [.end(.timeout)])
        state = open()
        _ = state.close(now: 0)
        #expect(state.tick(now: 5_000) == [.end(nil)])
    }

    // MARK: Time

    @Test func connectTimesOut() {
        var state = plain(connect: .seconds(3))
        #expect(state.nextDeadline == 3_000)
        #expect(state.tick(now: 2_999) == [])
        #expect(state.tick(now: 3_000) == [.end(.timeout)])
    }

    @Test func handshakeCountsTowardsTheTimeout() {
        var state = StreamState(StreamTarget(host: "h", port: 1, usesTLS: true, connectTimeout: .seconds(3)), now: 0)
        _ = state.connected(now: 2_000)
        #expect(state.tick(now: 3_000) == [.end(.timeout)])
        state = plain(connect: .seconds(3))
        _ = state.connected(now: 0)
        _ = state.startTLS(now: 10_000)
        #expect(state.nextDeadline == 13_000)
    }

    @Test func everyByteResetsTheIdleTimeout() {
        var state = plain(idle: .seconds(10))
        _ = state.connected(now: 1_000)
        #expect(state.nextDeadline == 11_000)
        _ = state.received([1], now: 5_000)
        #expect(state.nextDeadline == 15_000)
        _ = state.write([1], now: 6_000)
        #expect(state.nextDeadline == 15_000)
        _ = state.sent(1, now: 7_000)
        #expect(state.tick(now: 16_999) == [])
        #expect(state.tick(now: 17_000) == [.end(.idle)])
    }
}
