import NIOConcurrencyHelpers
import NIOCore
import NIOEmbedded
import Testing
import TimeTestSupport

@testable import HTTPClient

/// The order and the pieces in which frames are sent, so that both sides can work in parallel.
struct SendingOrderTests {
    private let network = ScriptedNetwork()
    private let answers = Answers()

    /// Returns an origin whose connection has answered one request.
    private func openOrigin() throws -> OriginConnections {
        network.greets = { $0.settings(maxConcurrentStreams: 1_000) }
        let origin = try network.origin()
        #expect(origin.post(try #require(answers.exchange(0))))
        network.settle()
        let peer = try #require(network.connections.first?.peer)
        peer.answer(1)
        network.settle()
        #expect(answers.status(0) == 200)
        return origin
    }

    @Test func dataBlockedByFlowControlIsSentBeforeResponsesAreRead() throws {
        let origin = try openOrigin()
        let connection = try #require(network.connections.first)
        // Uses up the connection's window, so that no other request starts.
        let leftWhenAnswered = NIOLockedValueBox<[RawFrame]?>(nil)
        let large = try #require(answers.exchange(1, body: [UInt8](repeating: 7, count: 65_535)))
        let watched = Exchange(request: large.request, url: large.url, deadline: large.deadline) { [network] result in
            large.complete(result)
            var bytes: [UInt8] = []
            while let buffer = try? network.connections.first?.channel.readOutbound(as: ByteBuffer.self) {
                bytes += Array(buffer.readableBytesView)
            }
            leftWhenAnswered.withLockedValue { $0 = RawFrame.all(in: bytes) }
            network.connections.first?.peer.receive(bytes)
        }
        network.isWithheld = true
        #expect(origin.post(watched))
        #expect(origin.post(try #require(answers.exchange(2, body: [1, 2, 3]))))
        network.settle()
        #expect(connection.peer.open == [3])

        // The response and the window arrive in one read.
        connection.peer.answer(3)
        try connection.channel.writeInbound(ByteBuffer(bytes: connection.peer.takeOutput()))
        let frames = leftWhenAnswered.withLockedValue { $0 }
        let left = try #require(frames)
        #expect(left.contains { $0.type == 1 && $0.stream == 5 })
        #expect(left.contains { $0.type == 0 && $0.stream == 5 && $0.payload == [1, 2, 3] })

        network.isWithheld = false
        network.settle()
        connection.peer.answer(5)
        network.settle()
        #expect(answers.status(1) == 200)
        #expect(answers.status(2) == 200)
    }

    @Test func theFirstPieceIsOneRecordOfTLSAndTheNextAreThree() throws {
        let origin = try openOrigin()
        let connection = try #require(network.connections.first)
        for number in 1...500 {
            // The value differs each time, so that it is sent in full.
            let headers: HTTPFields = [HTTPField("apns-id", String(repeating: "~", count: 250) + "\(number)")]
            #expect(origin.post(try #require(answers.exchange(number, headers: headers))))
        }
        network.loop.run()
        var pieces: [[UInt8]] = []
        while let buffer = try connection.channel.readOutbound(as: ByteBuffer.self) {
            pieces.append(Array(buffer.readableBytesView))
        }
        let sizes = pieces.map(\.count)
        let record = 16_384
        #expect(sizes.count >= 3)
        #expect((record - 512...record).contains(sizes[0]))
        #expect(sizes.dropFirst().dropLast().allSatisfy { (3 * record - 512...3 * record).contains($0) })
        #expect(try #require(sizes.last) <= 3 * record)
        // No piece ends within a frame.
        #expect(pieces.map { RawFrame.all(in: $0).count }.reduce(0, +) == 500)
        for piece in pieces { connection.peer.receive(piece) }
        #expect(connection.peer.open.count == 500)
        for stream in connection.peer.open { connection.peer.answer(stream) }
        network.settle()
        #expect((1...500).allSatisfy { answers.status($0) == 200 })
    }
}
