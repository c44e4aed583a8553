import Core
import Testing
import TimeTestSupport

@testable import HTTPClient

/// A member of a cluster that stood still past its leases must not send the requests that waited in that time.
struct RequestGateTests {
    private let clock = ManualClock()
    private let gate: RequestGate
    private let network = ScriptedNetwork()
    private let answers = Answers()

    init() {
        gate = RequestGate(now: clock.monotonic)
        network.gate = gate
    }

    @Test func gateIsOpenUntilALeaseIsSet() {
        #expect(gate.isOpen)
        clock.advance(by: .days(400))
        #expect(gate.isOpen)
        gate.close(at: clock.monotonic() + .seconds(3))
        clock.advance(by: .milliseconds(2_900))
        #expect(gate.isOpen)
        clock.advance(by: .milliseconds(100))
        #expect(!gate.isOpen)
    }

    @Test func timelyRenewalKeepsTheGateOpen() {
        for _ in 0..<5 {
            gate.close(at: clock.monotonic() + .seconds(3))
            clock.advance(by: .seconds(2))
            #expect(gate.isOpen)
        }
        gate.close(at: .distantFuture)
        clock.advance(by: .seconds(60))
        #expect(gate.isOpen)
    }

    @Test(arguments: [Duration.seconds(3), nil])
    func lateRenewalOpensTheGateASecondLater(_ lease: Duration?) {
        gate.close(at: clock.monotonic() + .seconds(3))
        clock.advance(by: .seconds(10))
        #expect(!gate.isOpen)
        gate.close(at: lease.map { clock.monotonic() + $0 } ?? .distantFuture)
        #expect(!gate.isOpen)
        clock.advance(by: .milliseconds(900))
        #expect(!gate.isOpen)
        clock.advance(by: .milliseconds(100))
        #expect(gate.isOpen)
    }

    @Test func requestBehindAClosedGateIsNotSent() throws {
        let origin = try network.origin()
        func post(_ number: Int) throws {
            #expect(origin.post(try #require(answers.exchange(number, deadline: 3_600_000))))
        }
        try post(1)
        network.settle()
        network.connections[0].peer.answer(1)
        network.settle()
        gate.close(at: clock.monotonic() + .seconds(3))
        try post(2)
        clock.advance(by: .seconds(10))
        network.settle()
        #expect(answers.failure(2) == HTTPError(.closed, mayHaveBeenProcessed: false))
        #expect(network.connections[0].peer.open.isEmpty)
        gate.close(at: .distantFuture)
        try post(3)
        network.settle()
        #expect(answers.failure(3) == HTTPError(.closed, mayHaveBeenProcessed: false))
        clock.advance(by: .seconds(1))
        try post(4)
        network.settle()
        #expect(network.connections[0].peer.open == [3])
    }

    @Test func closedGateBlocksLibcurl() async throws {
        let server = try await PlainServer()
        var configuration = HTTPLanes.Configuration()
        configuration.gate = gate
        let lanes = try HTTPLanes.forTests(configuration)
        let request = HTTPRequest(method: "GET", url: "http://localhost:\(server.port)/echo", timeout: .seconds(20))
        #expect(try await lanes.answer(to: request).get().status == 200)
        gate.close(at: clock.monotonic())
        let refused = await lanes.answer(to: request)
        #expect(throws: HTTPError(.closed, mayHaveBeenProcessed: false)) { try refused.get() }
        #expect(server.connections == 1)
        gate.close(at: .distantFuture)
        clock.advance(by: .seconds(1))
        #expect(try await lanes.answer(to: request).get().status == 200)
        await lanes.shutdown()
        await server.stop()
    }
}
