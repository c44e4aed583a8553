import NIOCore
import Testing
import TimeTestSupport

@testable import HTTPLanes

struct RepeatedBlockTests {
    private let answers = Answers()

    /// What `blocks` say, each the answer to a request of its own.
    private func results(of blocks: [[UInt8]]) throws -> [Result<HTTPResponse, HTTPFailure>?] {
        let session = try #require(HTTP2Session(streamLimit: 100))
        var bytes = RawFrame.settings().bytes
        _ = bytes.withUnsafeBytes { session.receive($0) }
        for number in blocks.indices { #expect(session.submit(try #require(answers.exchange(number)), now: 0)) }
        var buffer = ByteBuffer()
        while session.pump(into: &buffer, upTo: .max) {}
        bytes = blocks.enumerated().flatMap { RawFrame.headers(UInt32(2 * $0.offset + 1), $0.element).bytes }
        #expect(bytes.withUnsafeBytes { session.receive($0) })
        for finished in session.takeFinished() {
            switch finished {
            case .answered(let exchange, let response): exchange.complete(.success(response))
            case .failed(let exchange, let failure): exchange.complete(.failure(failure))
            case .refused(let exchange): exchange.fail(.closed, mayHaveBeenProcessed: false)
            }
        }
        return blocks.indices.map { answers[$0] }
    }

    private func insert(_ name: String, _ value: String) -> [UInt8] {
        [0x40] + RawFrame.field(name, value).dropFirst()
    }

    @Test func anAnswerLikeTheLastIsTheSame() throws {
        let first = HTTPResponse(status: 200, headers: [HTTPField("server", "a")])
        let all = try results(of: [[0x88] + insert("server", "a"), [0x88, 0xbe], [0x88, 0xbe], [0x88, 0xbe]])
        #expect(all == [.success(first), .success(first), .success(first), .success(first)])
    }

    @Test func theSameBytesMeanAnotherThingAfterTheTableChanged() throws {
        func response(_ value: String) -> Result<HTTPResponse, HTTPFailure> {
            .success(HTTPResponse(status: 200, headers: [HTTPField("server", value)]))
        }
        let all = try results(of: [
            [0x88] + insert("server", "a"), [0x88, 0xbe], [0x88, 0xbe], [0x88] + insert("server", "b"), [0x88, 0xbe],
            [0x88, 0xbf], [0x88, 0xbe],
        ])
        #expect(all == ["a", "a", "a", "b", "b", "a", "b"].map(response))
    }

    @Test(
        arguments: [
            // Indexed fields.
            ([0x88], true), ([0x88, 0xbe, 0xff, 0x00], true), ([], true),
            // Literals without indexing, never indexed, and with it.
            ([0x0f, 0x0d, 0x01, 0x30], true), ([0x00, 0x01, 0x61, 0x01, 0x62], true),
            ([0x10, 0x01, 0x61, 0x81, 0x62], true), ([0x5c, 0x01, 0x30], false), ([0x40, 0x01, 0x61, 0x00], false),
            ([0x88, 0x00, 0x01, 0x61, 0x01, 0x40, 0x40, 0x01, 0x61, 0x00], false),
            // Sizes of the table.
            ([0x20, 0x88], false), ([0x3f, 0xe1, 0x1f, 0x88], false),
            // Cut off.
            ([0xff], false), ([0x00, 0x02, 0x61], false), ([0x0f, 0x0d, 0x02, 0x30], false),
        ] as [([UInt8], Bool)]
    )
    func aBlockThatInsertsIsToldFromOneThatDoesNot(block: [UInt8], isLeft: Bool) {
        #expect(block.withUnsafeBytes { RepeatedBlock.leavesTableAlone($0) } == isLeft)
    }

    @Test func whatIsMalformedStaysSo() throws {
        let malformed = Result<HTTPResponse, HTTPFailure>.failure(
            HTTPFailure(.protocolError, mayHaveBeenProcessed: true)
        )
        let good = Result<HTTPResponse, HTTPFailure>.success(HTTPResponse(status: 404))
        #expect(
            try results(of: [[0x88, 0x88], [0x88, 0x88], [0x8d], [0x88, 0x88]]) == [
                malformed, malformed, good, malformed,
            ]
        )
    }
}
