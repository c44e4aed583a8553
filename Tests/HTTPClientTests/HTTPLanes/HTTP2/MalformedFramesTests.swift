import NIOCore
import Testing
import TimeTestSupport

@testable import HTTPClient

/// The errors of RFC 9113 and their kinds. Streams 1, 3 and 5 are open; 1 has sent its whole request.
struct MalformedFramesTests {
    struct Row: CustomTestStringConvertible {
        var testDescription: String
        var code: HTTP2ErrorCode
        var frames: [RawFrame]

        init(_ name: String, _ code: HTTP2ErrorCode, _ frames: RawFrame...) {
            testDescription = name
            self.code = code
            self.frames = frames
        }
    }

    private let answers = Answers()

    /// A session with three requests in flight, greeted by its peer.
    private func session() throws -> HTTP2Session {
        let session = try #require(HTTP2Session(streamLimit: 100))
        #expect(feed([.settings((4, 65_535)), .settingsAck], to: session))
        for number in 1...3 { #expect(session.submit(try #require(answers.exchange(number, body: [1])), now: 0)) }
        _ = output(of: session)
        return session
    }

    private func feed(_ frames: [RawFrame], to session: HTTP2Session) -> Bool {
        frames.flatMap(\.bytes).withUnsafeBytes { session.receive($0) }
    }

    private func output(of session: HTTP2Session) -> [RawFrame] {
        var buffer = ByteBuffer()
        while session.pump(into: &buffer, upTo: .max) {}
        let preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8
        let bytes = buffer.readableBytesView
        return RawFrame.all(in: bytes.starts(with: preface) ? bytes.dropFirst(preface.count) : bytes)
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

    @Test(arguments: connectionErrors) func malformedFrameClosesTheConnectionWithAReason(row: Row) throws {
        let session = try session()
        #expect(!feed(row.frames, to: session))
        #expect(output(of: session).last?.goAwayCode == row.code.rawValue)
        #expect(session.isOver)
        session.abandon(.protocolError)
        settle(session)
        #expect(answers.count == 3)
        #expect(session.budget.inFlight == 0)
    }

    @Test(arguments: streamErrors) func malformedStreamFrameResetsOnlyItsStream(row: Row) throws {
        let session = try session()
        #expect(feed(row.frames, to: session))
        #expect(output(of: session).filter { $0.type == 3 } == [.reset(1, row.code.rawValue)])
        settle(session)
        #expect(answers.failure(1) == HTTPError(.protocolError, mayHaveBeenProcessed: true))
        #expect(answers.count == 1)
        // The peer's frames in flight for it are ignored; the other requests continue.
        let late: [RawFrame] = [
            .headers(1, [0x88], endStream: false), .data(1, [1, 2, 3]), .windowUpdate(1, 1), .reset(1, 8),
            .headers(3, [0x88]), .headers(5, [0x8d]),
        ]
        #expect(feed(late, to: session))
        settle(session)
        #expect(answers.status(2) == 200)
        #expect(answers.status(3) == 404)
        #expect(answers.count == 3)
    }

    @Test(arguments: harmless) func allowedAndUnknownFramesAreIgnored(row: Row) throws {
        let session = try session()
        #expect(feed(row.frames, to: session))
        #expect(feed([.headers(3, [0x88])], to: session))
        #expect(!output(of: session).contains { $0.type == 3 || $0.type == 7 })
        settle(session)
        #expect(answers.status(2) == 200)
        session.abandon(.closed)
        settle(session)
        #expect(answers.count == 3)
    }

    @Test func aBusyConnectionMaySendMoreFramesThanAnIdleOne() throws {
        let session = try session()
        // 600,000 bytes for requests in frames that cost nothing, and 60 others for each.
        for number in 4...1_003 {
            let stream = UInt32(2 * number - 1)
            #expect(session.submit(try #require(answers.exchange(number)), now: 0))
            _ = output(of: session)
            let frames: [RawFrame] =
                [.headers(stream, [0x88], endStream: false)]
                + [RawFrame](repeating: .data(stream, [UInt8](repeating: 1, count: 100), endStream: false), count: 6)
                + [RawFrame](repeating: .windowUpdate(0, 1), count: 60) + [.data(stream, [])]
            #expect(feed(frames, to: session))
            settle(session)
        }
        #expect(answers.count == 1_000 && answers.status(1_003) == 200)
        session.abandon(.closed)
        settle(session)
    }

    @Test(
        arguments: [
            [RawFrame.settingsAck], [.headers(1, [0x88])],
            [RawFrame(type: 6, payload: [UInt8](repeating: 0, count: 8))],
            [RawFrame(type: 0xaa)], [.goAway(0)], RawFrame.all(in: Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)),
        ]
    )
    func peerThatDoesNotStartWithSettingsIsNotHTTP2(frames: [RawFrame]) throws {
        let session = try #require(HTTP2Session(streamLimit: 100))
        #expect(session.submit(try #require(answers.exchange(1)), now: 0))
        _ = output(of: session)
        #expect(!feed(frames, to: session))
        #expect([1, 6].contains(output(of: session).last?.goAwayCode))
        session.abandon(.protocolError)
        settle(session)
        #expect(answers.failure(1) == HTTPError(.protocolError, mayHaveBeenProcessed: true))
    }
}
