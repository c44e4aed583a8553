import Testing

@testable import CarillonLab

struct WaitingTests {
    @Test func theTimeCanBeOver() async throws {
        let lab = try await Lab.start()
        let late = await #expect(throws: LabError.self) { try await lab.next(timeout: .milliseconds(5)) }
        #expect(late?.isTimeout == true)
        let few = await #expect(throws: LabError.self) { try await lab.waitFor(count: 3, timeout: .milliseconds(5)) }
        #expect(few?.isTimeout == true)
        await lab.shutdown()
    }

    @Test func shutdownEndsEveryWait() async throws {
        let lab = try await Lab.start()
        async let waiting: ReceivedRequest = lab.next(timeout: nil)
        await lab.shutdown()
        do {
            _ = try await waiting
            Issue.record("nothing came, yet something was returned")
        } catch let error as LabError {
            #expect(error.isClosed)
        }
        let closed = await #expect(throws: LabError.self) { try await lab.next() }
        #expect(closed?.isClosed == true)
    }

    @Test func cancelledTaskStopsWaiting() async throws {
        let lab = try await Lab.start()
        let waiting = Task { try await lab.next(timeout: nil) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await lab.shutdown()
    }

    @Test func requestsThatMatchAreCounted() async throws {
        let bench = try await APNsBench()
        async let refused = bench.lab.waitFor(count: 2) { !$0.isAccepted }
        _ = try await bench.send(bench.request(body: ""), bench.request(), bench.request(body: "[]"))
        #expect(try await refused.map(\.sequence) == [1, 3])
        #expect(try await bench.lab.next().sequence == 1)
        #expect(try await bench.lab.next().sequence == 2)
        await bench.lab.shutdown()
    }

    @Test func shutdownFreesPortsAndFolder() async throws {
        // A separate address, because labs of other tests may reuse free ports.
        var configuration = LabConfiguration()
        configuration.host = "127.0.0.77"
        let lab = try await Lab.start(configuration)
        let there = ["--connect-to", "::127.0.0.77:", lab.apnsURL]
        let answer = try await Curl.run([["--http2", "--cacert", lab.addresses.caFile] + there])[0]
        #expect(answer.status == 405)
        await lab.shutdown()
        #expect(try await Tool.run("test", ["-e", lab.addresses.caFile]).status == 1)
        // 7: connection refused.
        #expect(try await Curl.run([["-k"] + there])[0].exit == 7)
    }
}

struct TakenTests {
    @Test(
        arguments: [
            (nil, 200, true), (nil, 400, false), (.answer(status: 201), 201, true), (.answer(status: 503), 503, false),
            (.html(status: 200), 200, true), (.delay(milliseconds: 9), 200, true), (.limitStreams(1), 200, true),
            (.goAway(gracefully: true), 200, true), (.goAway(gracefully: false), nil, false),
            (.refuseStream, nil, false), (.reset(code: 2), nil, true), (.close, nil, true), (.cut, nil, true),
            (.silence, nil, true),
        ] as [(ScriptedBehavior.Action?, Int?, Bool)]
    )
    func pushIsAcceptedUnlessItWasRefused(
        _ behavior: ScriptedBehavior.Action?,
        _ status: Int?,
        _ isTaken: Bool
    ) {
        #expect(ReceivedRequest.sample(status: status, misbehaviour: behavior).isTaken == isTaken)
    }
}
