import NIOConcurrencyHelpers
import Synchronization
import Testing

@testable import HTTPLanes

/// Whoever names a host decides how long its look-up takes, and must not decide it for others.
@Suite(.serialized) struct SlowNameTests {
    @Test func aSlowNameHoldsUpNobodyElse() async throws {
        let server = try await PlainServer()
        let lanes = try HTTPLanes.forTests()
        let isOver = Atomic(false)
        async let slow = {
            let failure = await lanes.failure(
                of: HTTPRequest(method: "GET", url: "http://a.slow.invalid/", timeout: 100)
            )
            isOver.store(true, ordering: .relaxed)
            return failure
        }()
        while !isOver.load(ordering: .relaxed) {
            let other = HTTPRequest(method: "GET", url: "http://127.0.0.1:\(server.port)/echo", timeout: 3_000)
            #expect(try await lanes.answer(to: other).get().status == 200)
        }
        #expect(await slow == HTTPFailure(.timeout, mayHaveBeenProcessed: false))
        #expect(SlowNames.areAsked)
        SlowNames.letGo()
        await lanes.shutdown()
        await server.stop()
    }

    @Test func slowNamesHoldUpNoRefusal() async throws {
        let caFile = try TestCertificate.shared.get().certificateFile
        let lanes = try HTTPLanes.forTests(.init(caFile: caFile))
        // More than there are threads for look-ups.
        let names = 64
        let isAnyOver = NIOLockedValueBox(false)
        await withTaskGroup { group in
            for number in 0..<names {
                group.addTask {
                    _ = await lanes.answer(
                        to: HTTPRequest(
                            method: "GET",
                            url: "https://b\(number).slow.invalid/",
                            timeout: 5_000,
                            multiplexed: true
                        )
                    )
                    isAnyOver.withLockedValue { $0 = true }
                }
            }
            while !SlowNames.areAsked { await Task.yield() }
            let failure = await lanes.failure(of: HTTPRequest(method: "GET", url: "nonsense"))
            #expect(failure?.reason == .invalidURL)
            #expect(!isAnyOver.withLockedValue { $0 })
            for _ in 0..<names { SlowNames.letGo() }
        }
        await lanes.shutdown()
    }
}
