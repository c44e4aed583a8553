import Core
import CostTestSupport
import NIOCore
import RandomTestSupport
import Testing
import TimeTestSupport

@testable import HTTPClient

/// A server's output, damaged in many ways: no damage may crash, hang, or end a request other than once. Serialized,
/// like all busy tests here, because tests with time limits run in parallel.
@Suite(.serialized) struct MutatedStreamTests {
    private static let requests = 10

    @Test(.timeLimit(.minutes(3)), arguments: 0..<20)
    func everyRequestEndsOnceForMutatedStreams(part: Int) throws {
        let original = try recording()
        #expect(original.count > 20)
        var random = SeededGenerator(seed: UInt64(part))
        var answered = 0
        let rounds = TestLength.rounds(60, long: 500)
        for _ in 0..<rounds {
            let isGreetingSpared = !random.once(in: 4)
            let greeting = original.prefix(isGreetingSpared ? 2 : 0)
            let bytes = greeting.flatMap(\.bytes) + damaged(Array(original.dropFirst(greeting.count)), &random)
            answered += try replay(bytes, &random)
        }
        // Much of the damage leaves most of the conversation intact.
        #expect(answered > rounds)
    }

    /// Returns the server's side of a whole conversation.
    private func recording() throws -> [RawFrame] {
        let answers = Answers()
        let server = CapriciousServer(seed: 8)
        let session = try #require(HTTP2Session(streamLimit: 100))
        var output: [UInt8] = []
        var next = 0
        while answers.count < Self.requests {
            try submit(answers, session, &next)
            server.receive(Self.output(of: session))
            for _ in 0..<5 { server.act() }
            if answers.count + session.budget.inFlight == Self.requests { server.calmDown() }
            let said = server.takeOutput()
            output += said
            #expect(said.withUnsafeBytes { session.receive($0) })
            settle(session)
        }
        return RawFrame.all(in: output)
    }

    /// Feeds `bytes` to a new session; returns the number of answered requests.
    private func replay(_ bytes: [UInt8], _ random: inout SeededGenerator) throws -> Int {
        let answers = Answers()
        let session = try #require(HTTP2Session(streamLimit: 100))
        var next = 0
        var rest = bytes[...]
        try submit(answers, session, &next)
        _ = Self.output(of: session)
        while !rest.isEmpty {
            let piece = Array(rest.prefix(random.once(in: 3) ? random.number(1...30) : random.number(1...4_000)))
            rest = rest.dropFirst(piece.count)
            let isWell = piece.withUnsafeBytes { session.receive($0) }
            if random.once(in: 100) { _ = session.expire(now: .distantFuture) }
            settle(session)
            try submit(answers, session, &next)
            #expect(Self.output(of: session).count < 1_000_000)
            guard isWell else { break }
        }
        session.abandon(.closed)
        settle(session)
        #expect(session.budget.inFlight == 0)
        #expect(answers.count == next)
        let results = (0..<next).map { answers[$0] }
        #expect(!results.contains(nil))
        return (0..<next).count { answers.status($0) != nil }
    }

    private func submit(_ answers: Answers, _ session: HTTP2Session, _ next: inout Int) throws {
        while next < Self.requests, session.budget.free > 0 {
            let body = [UInt8](repeating: 1, count: next * 100)
            #expect(session.submit(try #require(answers.exchange(next, body: body)), now: 0))
            next += 1
        }
    }

    private static func output(of session: HTTP2Session) -> [UInt8] {
        var buffer = ByteBuffer()
        while session.pump(into: &buffer, upTo: 1_000_000), buffer.readableBytes < 1_000_000 {}
        return Array(buffer.readableBytesView)
    }

    private func settle(_ session: HTTP2Session) {
        for finished in session.takeFinished() {
            switch finished {
            case .answered(let exchange, let response): exchange.complete(.success(response))
            case .failed(let exchange, let failure): exchange.complete(.failure(failure))
            case .refused(let exchange): exchange.fail(.closed, mayHaveBeenProcessed: false)
            }
        }
    }

    private func damaged(_ original: [RawFrame], _ random: inout SeededGenerator) -> [UInt8] {
        var frames = original
        if !random.once(in: 4) {
            for _ in 0..<random.number(1...3) { damage(&frames, &random) }
        }
        var bytes = frames.flatMap(\.bytes)
        if random.once(in: 2) {
            for _ in 0..<random.number(1...3) { damage(&bytes, &random) }
        }
        return bytes
    }

    private func damage(_ frames: inout [RawFrame], _ random: inout SeededGenerator) {
        guard !frames.isEmpty else { return }
        let index = random.number(0...frames.count - 1)
        let other = random.number(0...frames.count - 1)
        switch random.number(0...9) {
        case 0: frames.remove(at: index)
        case 1: frames.insert(frames[other], at: index)
        case 2: frames.swapAt(index, other)
        case 3: frames[index].type = UInt8(random.number(0...11))
        case 4: frames[index].flags ^= 1 << UInt8(random.number(0...7))
        case 5: frames[index].stream = UInt32(random.number(0...20))
        case 6:
            frames[index].payload = Array(frames[index].payload.prefix(random.number(0...frames[index].payload.count)))
        case 7: frames[index].payload += random.bytes(random.number(1...300))
        case 8: damage(&frames[index].payload, &random)
        default: frames.insert(invented(&random), at: index)
        }
    }

    private func invented(_ random: inout SeededGenerator) -> RawFrame {
        let stream = UInt32(random.number(0...20))
        let number = UInt32.random(in: 0 ... .max, using: &random)
        let frames: [RawFrame] = [
            .reset(stream, number % 15), .goAway(stream, number % 15), .windowUpdate(stream, number),
            .settings((UInt16(random.number(0...8)), number)), .settings((4, number % 70_000)),
            .settings((1, number % 5_000)),
            .settings((3, number % 4)), .data(stream, random.bytes(random.number(0...50))),
            .headers(stream, [0x88], endStream: random.once(in: 2)), RawFrame(type: 6, payload: random.bytes(8)),
            .continuation(stream, [0x88]), .headers(stream, random.bytes(random.number(0...40)), flags: 0),
        ]
        return frames[random.number(0...frames.count - 1)]
    }

    private func damage(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        guard !bytes.isEmpty else { return }
        let index = random.number(0...bytes.count - 1)
        switch random.number(0...3) {
        case 0: bytes[index] ^= 1 << UInt8(random.number(0...7))
        case 1: bytes[index] = [0, 1, 0x7f, 0x80, 0xff][random.number(0...4)]
        case 2: bytes.removeSubrange(index..<min(bytes.count, index + random.number(1...20)))
        default: bytes.insert(contentsOf: random.bytes(random.number(1...20)), at: index)
        }
    }
}
