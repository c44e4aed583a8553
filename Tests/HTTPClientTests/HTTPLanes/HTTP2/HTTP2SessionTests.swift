import NIOCore
import Testing
import TimeTestSupport

@testable import HTTPClient

struct HTTP2SessionTests {
    private let session: HTTP2Session
    private let peer = ScriptedPeer()
    private let answers = Answers()

    init() throws {
        session = try #require(HTTP2Session(streamLimit: 100))
        peer.settings(maxConcurrentStreams: 100)
        exchangeBytes()
    }

    private func exchangeBytes() {
        var buffer = ByteBuffer()
        while session.pump(into: &buffer, upTo: .max) {}
        peer.receive(Array(buffer.readableBytesView))
        hear()
    }

    private func hear() {
        #expect(peer.takeOutput().withUnsafeBytes { session.receive($0) })
    }

    @Test func requestUnsentBeforeAGoAwayIsRefusedNotFailed() throws {
        #expect(session.submit(try #require(answers.exchange(1)), now: 0))
        exchangeBytes()
        // Held back, like output that the socket does not accept.
        #expect(session.submit(try #require(answers.exchange(2)), now: 0))
        #expect(session.submit(try #require(answers.exchange(3)), now: 0))
        peer.goAway(lastStreamID: 1)
        hear()
        peer.answer(1)
        exchangeBytes()
        exchangeBytes()
        var refused: [String] = []
        var answered = 0
        for finished in session.takeFinished() {
            switch finished {
            case .refused(let exchange):
                refused.append(exchange.url.target)
                exchange.fail(.closed, mayHaveBeenProcessed: false)
            case .answered(let exchange, let response):
                answered += 1
                exchange.complete(.success(response))
            case .failed(let exchange, let failure):
                exchange.complete(.failure(failure))
            }
        }
        #expect(refused.sorted() == ["/3/device/2", "/3/device/3"])
        #expect(answered == 1)
        #expect(answers.count == 3)
        #expect(session.budget.inFlight == 0)
        #expect(session.isOver)
    }

    private func submitMany(_ numbers: ClosedRange<Int>) throws {
        let body = [UInt8](repeating: 7, count: 1_000)
        for number in numbers { #expect(session.submit(try #require(answers.exchange(number, body: body)), now: 0)) }
    }

    @Test func usedWindowIsFullyRestored() throws {
        try submitMany(1...100)
        // 65,535 bytes of them.
        exchangeBytes()
        #expect(peer.open.count == 65)
        // A frame that went beyond the window's half would have brought 33,000 of them back, and not 65,534.
        exchangeBytes()
        #expect(peer.open.count == 100)
    }

    @Test func framesComeInPiecesOfAboutTheSizeAskedFor() throws {
        let body = [UInt8](repeating: 7, count: 20_000)
        for number in 1...3 { #expect(session.submit(try #require(answers.exchange(number, body: body)), now: 0)) }
        var buffer = ByteBuffer()
        #expect(session.pump(into: &buffer, upTo: 16_384))
        #expect((16_384...33_000).contains(buffer.readableBytes))
        peer.receive(Array(buffer.readableBytesView))
        exchangeBytes()
        #expect(peer.requests.map(\.body) == [body, body, body])
        session.abandon(.closed)
        for case .failed(let exchange, let failure) in session.takeFinished() { exchange.complete(.failure(failure)) }
        #expect((1...3).allSatisfy { answers.failure($0) == HTTPError(.closed, mayHaveBeenProcessed: true) })
    }
}
