import Core
import NIOCore
import Synchronization

@testable import HTTPClient

/// HTTP/2 frames and HPACK from a server: each of three requests ends exactly once on any input.
enum HTTP2Judge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        Pieces.judge(bytes) { _, pieces in ends(pieces) }
    }

    /// Returns how the requests end if a server sends `pieces` after its greeting, and whether we disconnect for them.
    private static func ends(_ pieces: [[UInt8]]) -> [String] {
        guard let session = HTTP2Session(streamLimit: 100) else { return [] }
        let ends = Ends()
        promise(receive(greeting, session), "a greeting is taken")
        for number in 0..<count {
            let isSent = exchange(number, ends).map { session.submit($0, now: .distantPast) } ?? false
            promise(isSent, "a request can be sent")
        }
        pump(session)
        var isWell = true
        for piece in pieces where isWell { isWell = receive(piece, session) }
        pump(session)
        settle(session)
        session.abandon(.closed)
        settle(session)
        promise(session.budget.inFlight == 0, "no request stays open")
        let all = ends.all
        promise(all.allSatisfy { $0.count == 1 }, "each request ends once")
        return all.flatMap(\.self) + [isWell ? "well" : "left"]
    }

    private static let count = 3
    /// An empty SETTINGS frame, and the acknowledgement of ours.
    private static let greeting: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0]

    private static func exchange(_ number: Int, _ ends: Ends) -> Exchange? {
        guard let url = URLParts("https://push.example/\(number)") else { return nil }
        let body = [UInt8](repeating: 1, count: number)
        let request = HTTPRequest(method: "POST", url: url.normalized, body: body, maxResponseBytes: .kibibytes(1))
        return Exchange(request: request, url: url, deadline: .distantFuture) { ends.append($0, of: number) }
    }

    private static func receive(_ bytes: [UInt8], _ session: HTTP2Session) -> Bool {
        bytes.withUnsafeBytes { session.receive($0) }
    }

    private static func pump(_ session: HTTP2Session) {
        var buffer = ByteBuffer()
        while session.pump(into: &buffer, upTo: 1 << 20), buffer.readableBytes < 1 << 20 {}
        promise(buffer.readableBytes < 1 << 20, "answers to a few frames are few")
    }

    private static func settle(_ session: HTTP2Session) {
        while let finished = session.nextFinished() {
            switch finished {
            case .answered(let exchange, let response): exchange.complete(.success(response))
            case .failed(let exchange, let failure): exchange.complete(.failure(failure))
            case .refused(let exchange): exchange.fail(.closed, mayHaveBeenProcessed: false)
            }
        }
    }

    private final class Ends: Sendable {
        private let texts = Mutex([[String]](repeating: [], count: HTTP2Judge.count))

        var all: [[String]] { texts.withLock(\.self) }

        func append(_ result: Result<HTTPResponse, HTTPError>, of number: Int) {
            let text =
                switch result {
                case .success(let response): "\(response.status) \(response.headers.count) \(response.body)"
                case .failure(let failure): "\(failure.reason) \(failure.mayHaveBeenProcessed)"
                }
            texts.withLock { $0[number].append(text) }
        }
    }
}
