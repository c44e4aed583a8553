import Core
import CostTestSupport
import NIOCore
import RandomTestSupport
import Testing
import TimeTestSupport

@testable import HTTPClient

/// The session against nghttp2's own server side, which randomly does everything that a server may do.
@Suite(.serialized) struct CapriciousServerTests {
    private let answers = Answers()

    /// Sends a few hundred requests of all sizes, in random pieces, and compares both sides' records.
    @Test(arguments: 0..<TestLength.rounds(10, long: 40)) func bothSidesAgreeOnEveryRequestsOutcome(
        seed: Int
    ) throws {
        var random = SeededGenerator(seed: UInt64(seed) + 1_000)
        let server = CapriciousServer(seed: seed)
        let session = try #require(HTTP2Session(streamLimit: random.once(in: 3) ? 3 : 100))
        var outcomes: [Int: HTTP2Session.Finished] = [:]
        var next = 0
        var now: Deadline = 0
        let total = 150
        var rounds = 0
        while outcomes.count < next || (next < total && session.budget.free + session.budget.inFlight > 0),
            rounds < 20_000
        {
            rounds += 1
            now += .milliseconds(1)
            for _ in 0..<random.number(0...6) where next < total && session.budget.free > 0 {
                #expect(session.submit(try exchange(next, now: now, &random), now: now))
                next += 1
            }
            transfer(session, server, &random)
            for _ in 0..<random.number(0...3) { server.act() }
            // At the end, and now and then, the server holds back no frame.
            if next == total, rounds > 2_000 { server.calmDown() }
            #expect(transfer(server, session, &random))
            if random.once(in: 50) { _ = session.expire(now: now) }
            record(session, &outcomes)
            if server.lastByGoAway != nil, session.budget.inFlight == 0 { break }
            if server.lastByGoAway != nil, rounds > 2_000 { server.calmDown() }
        }
        #expect(server.complaints == [])
        #expect(outcomes.count == next)
        #expect(answers.count == next)
        #expect(session.budget.inFlight == 0)
        compare(outcomes, server)
        if server.lastByGoAway != nil {
            transfer(session, server, &random)
            #expect(session.isOver)
        }
    }

    private func exchange(_ number: Int, now: Deadline, _ random: inout SeededGenerator) throws -> Exchange {
        var fields: HTTPFields = [
            HTTPField("authorization", "bearer " + String(repeating: "t", count: 100)),
            HTTPField("apns-id", "\(number)"), HTTPField("apns-topic", "topic \(random.number(0...9))"),
        ]
        if random.once(in: 30) {
            fields.append("x-long", String(repeating: "l", count: random.number(10_000...50_000)))
        }
        let size = random.once(in: 10) ? random.number(1...150_000) : random.number(0...400)
        // A few time out.
        let deadline = random.once(in: 20) ? now + .milliseconds(random.number(1...40)) : .distantFuture
        return try #require(
            answers.exchange(
                number,
                body: [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size),
                headers: fields,
                deadline: deadline,
                maxResponseBytes: ByteCount(random.once(in: 20) ? 30 : 100_000)
            )
        )
    }

    private func transfer(_ session: HTTP2Session, _ server: CapriciousServer, _ random: inout SeededGenerator) {
        var more = true
        while more {
            var buffer = ByteBuffer()
            more = session.pump(into: &buffer, upTo: random.number(1...40_000))
            for piece in pieces(Array(buffer.readableBytesView), &random) { server.receive(piece) }
            if random.once(in: 4) { return }
        }
    }

    private func transfer(_ server: CapriciousServer, _ session: HTTP2Session, _ random: inout SeededGenerator) -> Bool
    {
        for piece in pieces(server.takeOutput(), &random) {
            guard piece.withUnsafeBytes({ session.receive($0) }) else { return false }
        }
        return true
    }

    private func pieces(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [[UInt8]] {
        var pieces: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(random.once(in: 6) ? random.number(1...40) : random.number(1...20_000))
            pieces.append(Array(piece))
            rest = rest.dropFirst(piece.count)
        }
        return pieces
    }

    private func record(_ session: HTTP2Session, _ outcomes: inout [Int: HTTP2Session.Finished]) {
        for finished in session.takeFinished() {
            let exchange: Exchange
            switch finished {
            case .answered(let done, let response):
                exchange = done
                done.complete(.success(response))
            case .failed(let done, let failure):
                exchange = done
                done.complete(.failure(failure))
            case .refused(let done):
                exchange = done
                done.fail(.closed, mayHaveBeenProcessed: false)
            }
            let number = Int(exchange.request.url.split(separator: "/").last ?? "") ?? -1
            #expect(outcomes.updateValue(finished, forKey: number) == nil)
        }
    }

    private func compare(_ outcomes: [Int: HTTP2Session.Finished], _ server: CapriciousServer) {
        let streams = Dictionary(
            server.requests.map { ($0.value.fields[":path"] ?? "", $0.key) },
            uniquingKeysWith: { first, _ in first }
        )
        #expect(streams.count == server.requests.count)
        for (number, outcome) in outcomes {
            let path = "/3/device/\(number)"
            let stream = streams[path]
            let request = stream.flatMap { server.requests[$0] }
            switch outcome {
            case .answered(let exchange, let response):
                var sent = server.responses[path]
                let wanted = Array(sent?.body.prefix(exchange.request.maxResponseBytes.bytes) ?? [])
                sent?.body = wanted
                #expect(sent == response)
                checkArrival(of: exchange, request)
            case .refused:
                #expect(server.responses[path] == nil)
                let isBeyond = stream.flatMap { id in server.lastByGoAway.map { id > $0 } } ?? true
                #expect(isBeyond || stream.flatMap { server.resets[$0] } == HTTP2ErrorCode.refusedStream.rawValue)
            case .failed(_, let failure):
                // Either it timed out or the server gave it up; this side never found an error in nghttp2.
                #expect(failure.reason == .timeout || failure.reason == .closed)
                #expect(failure.reason == .timeout || request?.resetBy == "server")
                if stream != nil { #expect(failure.mayHaveBeenProcessed) }
            }
        }
    }

    private func checkArrival(of exchange: Exchange, _ request: CapriciousServer.Request?) {
        #expect(request?.body == exchange.request.body)
        var expected = Dictionary(
            exchange.request.headers.map { ($0.name, $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
        expected[":method"] = "POST"
        expected[":scheme"] = "https"
        expected[":authority"] = "push.example"
        expected[":path"] = exchange.url.target
        if !exchange.request.body.isEmpty { expected["content-length"] = String(exchange.request.body.count) }
        #expect(request?.fields == expected)
    }
}
