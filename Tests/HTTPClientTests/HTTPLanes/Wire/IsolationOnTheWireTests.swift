import CommandTestSupport
import Dispatch
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

@testable import HTTPClient

/// Other users have enough capacity while one user's requests hang.
@Suite(.timeLimit(.minutes(2))) struct IsolationOnTheWireTests {
    private func request(_ host: String, _ port: Int, multiplexed: Bool = false) -> HTTPRequest {
        HTTPRequest(
            method: "POST",
            url: "\(multiplexed ? "https" : "http")://\(host):\(port)/echo",
            timeout: .seconds(60),
            multiplexed: multiplexed,
            untrustedURL: true
        )
    }

    private func answer(to request: HTTPRequest, from sender: any HTTPSender) async -> Result<HTTPResponse, HTTPError> {
        await withCheckedContinuation { continuation in
            sender.send(request) { continuation.resume(returning: $0) }
        }
    }

    @Test func hundredsOfHangingHostsLeaveCapacityForOthers() async throws {
        let silent = try await SilentServer()
        let good = try await PlainServer()
        let lanes = try HTTPLanes.forTests(.init(allowPrivate: ["127.0.0.0/8"]))
        let (one, other) = (lanes.share(), lanes.share())
        let answers = Answers()
        for number in 0..<600 {
            // A separate host each, because an attacker has a name for each.
            one.send(request("127.1.\(number / 250).\(1 + number % 250)", silent.port)) { answers.record(number, $0) }
        }
        await silent.connections(256)
        for number in 0..<50 {
            let result = await answer(to: request("127.0.0.1", good.port), from: number % 2 == 0 ? other : lanes)
            #expect((try? result.get())?.status == 200)
        }
        // A hanging request frees its place after a moment, even for other requests of the same account.
        let own = await answer(to: request("127.0.0.1", good.port), from: one)
        #expect((try? own.get())?.status == 200)
        #expect(answers.count == 0)
        await lanes.shutdown()
        #expect(answers.count == 600)
        await silent.stop()
        await good.stop()
    }

    @Test func slowTransfersHaveALimitOfTheirOwn() async throws {
        let silent = try await SilentServer()
        let good = try await PlainServer()
        let lanes = try HTTPLanes.forTests(
            .init(allowPrivate: ["127.0.0.0/8"], curl: CurlLimits(connections: 8, slowTransfers: 4))
        )
        let answers = Answers()
        for number in 0..<12 {
            lanes.send(request("127.2.0.\(1 + number)", silent.port)) { answers.record(number, $0) }
        }
        await silent.connections(8)
        // This succeeds only because the oldest ones must give up.
        let result = await answer(to: request("127.0.0.1", good.port), from: lanes)
        #expect((try? result.get())?.status == 200)
        let failures = Set((0..<12).compactMap { answers.failure($0) })
        #expect(failures == [HTTPError(.evicted, mayHaveBeenProcessed: true)])
        #expect(silent.most <= 8 + 4)
        await lanes.shutdown()
        #expect(answers.count == 12)
        await silent.stop()
        await good.stop()
    }

    @Test func fullQueueOfOneShareDoesNotAffectOthers() async throws {
        let silent = try await SilentServer()
        let good = try await PlainServer()
        let lanes = try HTTPLanes.forTests(
            .init(allowPrivate: ["127.0.0.0/8"], curl: CurlLimits(requests: 100, connections: 8))
        )
        let (one, other) = (lanes.share(), lanes.share())
        let answers = Answers()
        for number in 0..<200 {
            one.send(request("127.2.0.\(1 + number)", silent.port)) { answers.record(number, $0) }
        }
        #expect(try await answer(to: request("127.0.0.1", good.port), from: other).get().status == 200)
        #expect(answers.count == 150)
        #expect((50..<200).allSatisfy { answers.failure($0)?.reason == .overloaded })
        await lanes.shutdown()
        await silent.stop()
        await good.stop()
    }

    @Test func requestWaitingForLibcurlKeepsItsDeadline() async throws {
        let silent = try await SilentServer()
        let lanes = try HTTPLanes.forTests(.init(allowPrivate: ["127.0.0.0/8"], curl: CurlLimits(connections: 2)))
        let answers = Answers()
        lanes.send(request("127.2.0.1", silent.port)) { answers.record(1, $0) }
        await silent.connections(1)
        var waiting = request("127.2.0.2", silent.port)
        waiting.timeout = .milliseconds(30)
        #expect(await lanes.failure(of: waiting) == HTTPError(.timeout, mayHaveBeenProcessed: false))
        #expect(silent.most == 1)
        await lanes.shutdown()
        await silent.stop()
    }

    @Test func unresolvableNamesDoNotDelayOthers() async throws {
        let server = try await Nghttpd()
        let caFile = try TestCertificate.shared.get().certificateFile
        let release = DispatchSemaphore(value: 0)
        let lookups = NIOLockedValueBox(0)
        let names = ThreadedLookup { host, port in
            if host.hasPrefix("hangs") {
                lookups.withLockedValue { $0 += 1 }
                release.wait()
                release.signal()
            }
            return (try? SocketAddress(ipAddress: "127.0.0.1", port: port)).map { [$0] } ?? []
        }
        var configuration = HTTPLanes.Configuration(caFile: caFile, allowPrivate: ["127.0.0.0/8"])
        // As long as the requests have: a machine may be slow with that many threads.
        configuration.lanes.connectTimeout = .seconds(60)
        let lanes = try HTTPLanes.forTests(
            configuration,
            names: NameLookups(operators: names.lookUp, users: names.lookUp)
        )
        let answers = Answers()
        for number in 0..<150 {
            lanes.send(request("hangs-\(number).example", server.port, multiplexed: true)) {
                answers.record(number, $0)
            }
        }
        while lookups.withLockedValue({ $0 }) < 150 { try await Task.sleep(for: .milliseconds(1)) }
        var good = request("localhost", server.port, multiplexed: true)
        #expect(try await lanes.answer(to: good).get().status == 200)
        good.untrustedURL = false
        #expect(try await lanes.answer(to: good).get().status == 200)
        #expect(answers.count == 0)
        release.signal()
        await lanes.shutdown()
        #expect(answers.count == 150)
    }

    @Test func hangingLookupsDoNotBlockLibcurl() async throws {
        let server = try await PlainServer()
        let release = DispatchSemaphore(value: 0)
        let names = ThreadedLookup { host, port in
            if host.hasPrefix("hangs") {
                release.wait()
                release.signal()
            }
            return (try? SocketAddress(ipAddress: "127.0.0.1", port: port)).map { [$0] } ?? []
        }
        let lanes = try HTTPLanes.forTests(
            .init(allowPrivate: ["127.0.0.0/8"], curl: CurlLimits(connections: 8, slowTransfers: 4)),
            names: NameLookups(operators: names.lookUp, users: names.lookUp)
        )
        let answers = Answers()
        for number in 0..<400 {
            lanes.send(request("hangs-\(number).example", server.port)) { answers.record(number, $0) }
        }
        for number in 0..<3 {
            #expect(try await lanes.answer(to: request("good-\(number).example", server.port)).get().status == 200)
        }
        #expect(answers.count == 0)
        // Hosts whose names were found then are served normally.
        release.signal()
        while answers.count < 400 { try await Task.sleep(for: .milliseconds(1)) }
        #expect((0..<400).allSatisfy { (try? answers[$0]?.get())?.status == 200 })
        await lanes.shutdown()
        await server.stop()
    }

    @Test func silentServerBlocksItsLaneOnlyUntilTheTimeout() async throws {
        let silent = try await SilentServer()
        var configuration = HTTPLanes.Configuration()
        configuration.lanes.connectTimeout = .milliseconds(200)
        let lanes = try HTTPLanes.forTests(configuration)
        var ask = HTTPRequest(method: "POST", url: "https://127.0.0.1:\(silent.port)/", multiplexed: true)
        #expect(await lanes.failure(of: ask) == HTTPError(.unreachable, mayHaveBeenProcessed: false))
        await lanes.shutdown()
        let patient = try HTTPLanes.forTests()
        ask.timeout = .milliseconds(50)
        #expect(await patient.failure(of: ask) == HTTPError(.timeout, mayHaveBeenProcessed: false))
        await patient.shutdown()
        await silent.stop()
    }
}
