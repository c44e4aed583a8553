import Core
import Testing
import TimeTestSupport

@testable import PluginHost

struct InstanceStateTests {
    private func isIdle(_ settlement: InstanceState<String>.DrainState?) -> Bool {
        if case .idle = settlement { true } else { false }
    }

    private func admitted(_ admission: InstanceState<String>.Decision) -> UInt64? {
        if case .admitted(let ticket) = admission { ticket } else { nil }
    }

    @Test func callThatHasNotReturnedKeepsTheInstance() throws {
        var state = InstanceState<String>()
        let ticket = try #require(admitted(state.admit("a", deadline: 10)))
        _ = state.drain(deadline: 10)
        state.leave()
        // Ended from inside `deliver`, which has not returned yet.
        _ = state.complete(ticket)
        state.leave()
        #expect(state.settle(now: 0) == nil)
        state.leave()
        #expect(isIdle(state.settle(now: 0)))
        #expect(state.settle(now: 0) == nil)
    }

    @Test func outcomeIsReportedBeforeTheInstanceIsIdle() throws {
        var state = InstanceState<String>()
        let ticket = try #require(admitted(state.admit("a", deadline: 10)))
        state.leave()
        _ = state.drain(deadline: 10)
        state.leave()
        guard case .ended("a") = state.complete(ticket) else {
            Issue.record("nobody is told")
            return
        }
        #expect(state.settle(now: 9) == nil)
        state.leave()
        #expect(isIdle(state.settle(now: 9)))
    }

    @Test func drainingRefusesDeliveriesAndReturnsTheOpenOnes() throws {
        var state = InstanceState<String>()
        let ticket = try #require(admitted(state.admit("a", deadline: 10)))
        state.leave()
        #expect(state.drain(deadline: 10) == [ticket])
        guard case .refused("b", "draining") = state.admit("b", deadline: 10) else {
            Issue.record("accepted while draining")
            return
        }
    }

    @Test func requestsEndWithTheLastDelivery() throws {
        var state = InstanceState<String>()
        let ticket = try #require(admitted(state.admit("a", deadline: 10)))
        state.leave()
        let before = state.beginRequest()
        _ = state.drain(deadline: 10)
        state.leave()
        let during = state.beginRequest()
        #expect(before && during && state.mayBegin)
        _ = state.complete(ticket)
        state.leave()
        let after = state.beginRequest()
        #expect(!after && !state.mayBegin)
        // Two of its requests have not ended.
        #expect(state.settle(now: 0) == nil)
        state.endRequest()
        state.endRequest()
        #expect(isIdle(state.settle(now: 0)))
    }

    @Test func requestsAreForDeliveriesOnlyWhileDraining() throws {
        var state = InstanceState<String>()
        let ticket = try #require(admitted(state.admit("a", deadline: 10)))
        state.leave()
        _ = state.drain(deadline: 10)
        state.leave()
        #expect(state.beginRequest() == true)
        _ = state.complete(ticket)
        state.leave()
        #expect(state.beginRequest() == false)
        #expect(state.settle(now: 0) == nil)
        state.endRequest()
        #expect(isIdle(state.settle(now: 0)))
        #expect(state.beginRequest() == false)
        #expect(state.enter() == false)
    }

    @Test func ticketThePluginStillOwesKeepsTheInstance() throws {
        var state = InstanceState<String>()
        let ticket = try #require(admitted(state.admit("a", deadline: 10)))
        state.leave()
        #expect(state.expire(now: 10).map(\.payload) == ["a"])
        state.leave()
        #expect(state.drain(deadline: 50).isEmpty)
        state.leave()
        #expect(state.settle(now: 49) == nil)
        _ = state.complete(ticket)
        #expect(isIdle(state.settle(now: 49)))
    }

    @Test func deadlineAbandonsOpenDeliveries() throws {
        var state = InstanceState<String>()
        _ = state.admit("a", deadline: 100)
        _ = state.drain(deadline: 50)
        guard case .stuck(["a"]) = state.settle(now: 50) else {
            Issue.record("not stuck")
            return
        }
        #expect(state.enter() == false)
        #expect(state.settle(now: 51) == nil)
    }

    private func isOnlyStreams(_ settlement: InstanceState<String>.DrainState?) -> Bool {
        if case .onlyStreams = settlement { true } else { false }
    }

    @Test func streamsAreEndedLastAndKeepTheInstance() throws {
        var state = InstanceState<String>()
        let ticket = try #require(admitted(state.admit("a", deadline: 10)))
        state.leave()
        #expect(state.beginStream() == true)
        _ = state.drain(deadline: 100)
        state.leave()
        // The delivery in progress may need one more.
        #expect(state.beginStream() == true)
        #expect(state.settle(now: 0) == nil)
        _ = state.complete(ticket)
        state.leave()
        #expect(state.beginStream() == false)
        #expect(isOnlyStreams(state.settle(now: 0)))
        #expect(state.settle(now: 0) == nil)
        state.endStream(.shutDown)
        #expect(state.settle(now: 0) == nil)
        state.endStream(nil)
        #expect(isIdle(state.settle(now: 0)))
        #expect(state.streams.begun == 2 && state.streams.open == 0 && state.streams.failures == [.shutDown: 1])
    }

    @Test func endlessStreamIsAbandoned() {
        var state = InstanceState<String>()
        _ = state.beginStream()
        _ = state.drain(deadline: 50)
        state.leave()
        #expect(isOnlyStreams(state.settle(now: 0)))
        guard case .stuck([]) = state.settle(now: 50) else {
            Issue.record("not stuck")
            return
        }
    }

    @Test func instanceHas256Streams() {
        var state = InstanceState<String>()
        for _ in 0..<256 { #expect(state.beginStream() == true) }
        #expect(state.beginStream() == false)
        state.endStream(nil)
        #expect(state.beginStream() == true)
    }
}
