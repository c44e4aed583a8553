import CNghttp2
import Core
import NIOCore
import NIOEmbedded
import Testing
import TimeTestSupport

@testable import HTTPClient

struct HTTP2ConnectionTests {
    private let network = ScriptedNetwork()
    private let answers = Answers()

    private func post(_ numbers: ClosedRange<Int>, to origin: OriginConnections) throws {
        for number in numbers { #expect(origin.post(try #require(answers.exchange(number)))) }
        network.settle()
    }

    @Test func aRequestArrivesWholeAndItsAnswerReturns() throws {
        let origin = try network.origin()
        let headers: HTTPFields = [
            HTTPField("authorization", "bearer secret"), HTTPField("apns-id", "1"), HTTPField("apns-topic", "t"),
        ]
        let body = (0..<70_000).map { UInt8(truncatingIfNeeded: $0) }
        #expect(origin.post(try #require(answers.exchange(7, body: body, headers: headers))))
        network.settle()

        let peer = try #require(network.connections.first?.peer)
        // The window is 65,535 bytes: the rest waits for the peer, whose WINDOW_UPDATE nghttp2 sends automatically.
        let request = try #require(peer.requests.first)
        #expect(request.isComplete)
        #expect(request.body == body)
        #expect(
            request.headers == [
                ":method": "POST", ":scheme": "https", ":authority": "push.example", ":path": "/3/device/7",
                "authorization": "bearer secret", "apns-id": "1", "apns-topic": "t", "content-length": "70000",
            ]
        )
        #expect(request.neverIndexed == [":path", "authorization"])

        peer.answer(1, status: "410", body: Array("gone".utf8))
        network.settle()
        #expect(answers[7] == .success(HTTPResponse(status: 410, body: Array("gone".utf8))))
    }

    @Test func exactlyOneStreamIsOpenUntilThePeersSettingsArrive() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 3) }
        network.isWithheld = true
        let origin = try network.origin()
        try post(1...5, to: origin)
        let peer = try #require(network.connections.first?.peer)
        #expect(peer.open == [1])
        network.isWithheld = false
        network.settle()
        #expect(peer.open == [1, 3, 5])
        peer.answer(3)
        network.settle()
        #expect(peer.open == [1, 5, 7])
        #expect(answers.count == 1)
    }

    @Test func oneStreamIsUsedUntilTheFirstGoodTokenRaisesTheLimit() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 1) }
        let origin = try network.origin()
        try post(1...40, to: origin)
        let peer = try #require(network.connections.first?.peer)
        #expect(peer.requests.count == 1)

        peer.settings(maxConcurrentStreams: 1_000)
        peer.answer(1)
        network.settle()
        #expect(peer.open.count == 39)
        // A lane that has proved nothing yet does not justify a second connection.
        #expect(network.connections.count == 1)
        for stream in peer.open { peer.answer(stream) }
        network.settle()
        #expect((1...40).allSatisfy { answers.status($0) == 200 })
        #expect(answers.count == 40)
    }

    @Test func lowerAndZeroStreamLimitsAreObeyed() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 4) }
        var settings = ConnectionSettings()
        settings.connectionsPerOrigin = 1
        let origin = try network.origin(settings)
        try post(1...8, to: origin)
        let peer = try #require(network.connections.first?.peer)
        #expect(peer.open.count == 4)
        peer.settings(maxConcurrentStreams: 0)
        network.settle()
        for stream in peer.open { peer.answer(stream) }
        network.settle()
        #expect(peer.open.isEmpty)
        #expect(answers.count == 4)
        peer.settings(maxConcurrentStreams: 2)
        network.settle()
        #expect(peer.open.count == 2)
    }

    @Test func afterGoAwayOldStreamsFinishAndOthersUseANewConnection() throws {
        let origin = try network.origin()
        try post(1...6, to: origin)
        let old = try #require(network.connections.first)
        #expect(old.peer.open == [1, 3, 5, 7, 9, 11])
        old.peer.goAway(lastStreamID: 5)
        network.settle()

        #expect(network.connections.count == 2)
        let new = try #require(network.connections.last)
        #expect(new.peer.open.count == 3)
        #expect(
            Set(new.peer.requests.compactMap { $0.headers[":path"] }) == ["/3/device/4", "/3/device/5", "/3/device/6"]
        )
        #expect(answers.count == 0)
        try post(7...7, to: origin)
        #expect(new.peer.open.count == 4)

        for stream in [1, 3, 5] as [Int32] { old.peer.answer(stream) }
        for stream in new.peer.open { new.peer.answer(stream) }
        network.settle()
        #expect((1...7).allSatisfy { answers.status($0) == 200 })
        #expect(answers.count == 7)
        #expect(!old.channel.isActive)
        #expect(new.channel.isActive)
    }

    @Test func refusedStreamIsResentImmediatelyButNotForever() throws {
        let origin = try network.origin()
        try post(1...1, to: origin)
        let peer = try #require(network.connections.first?.peer)
        peer.reset(1, code: NGHTTP2_REFUSED_STREAM.rawValue)
        network.settle()
        #expect(peer.open == [3])
        peer.answer(3)
        network.settle()
        #expect(answers.status(1) == 200)

        try post(2...2, to: origin)
        for _ in 0..<10 {
            for stream in peer.open { peer.reset(stream, code: NGHTTP2_REFUSED_STREAM.rawValue) }
            network.settle()
        }
        #expect(answers.failure(2) == HTTPError(.closed, mayHaveBeenProcessed: false))
        #expect(peer.requests.count == 2 + 1 + ConnectionSettings().resends)
    }

    @Test func aResetMidwayFailsThatRequestAlone() throws {
        let origin = try network.origin()
        try post(1...2, to: origin)
        let peer = try #require(network.connections.first?.peer)
        peer.answer(1, body: [1, 2, 3], endStream: false)
        peer.reset(1, code: NGHTTP2_INTERNAL_ERROR.rawValue)
        peer.answer(3)
        network.settle()
        #expect(answers.failure(1) == HTTPError(.closed, mayHaveBeenProcessed: true))
        #expect(answers.status(2) == 200)
    }

    @Test func theEndOfTheConnectionLeavesItsRequestsInDoubt() throws {
        network.greets = { $0.settings(maxConcurrentStreams: 2) }
        let origin = try network.origin()
        try post(1...3, to: origin)
        let first = try #require(network.connections.first)
        first.peer.answer(1)
        network.settle()
        network.connections[0].channel.close(promise: nil)
        network.settle()
        #expect(answers.status(1) == 200)
        #expect(answers.failure(2) == HTTPError(.closed, mayHaveBeenProcessed: true))
        #expect(answers.failure(3) == HTTPError(.closed, mayHaveBeenProcessed: true))
        try post(4...4, to: origin)
        #expect(network.connections.last?.peer.open == [1])
    }

    @Test func silentServerTimesOutTheRequestAndThenTheConnection() throws {
        let origin = try network.origin()
        #expect(origin.post(try #require(answers.exchange(1, deadline: 5))))
        network.settle()
        let connection = try #require(network.connections.first)
        network.pass(.milliseconds(4))
        #expect(answers.count == 0)
        // From now on no sent data arrives.
        network.loop.advanceTime(by: .milliseconds(1))
        #expect(answers.failure(1) == HTTPError(.timeout, mayHaveBeenProcessed: true))
        while let buffer = try connection.channel.readOutbound(as: ByteBuffer.self) {
            connection.peer.receive(Array(buffer.readableBytesView))
        }
        #expect(connection.peer.requests.first?.resetCode == NGHTTP2_CANCEL.rawValue)
        #expect(connection.peer.pings == 1)
        network.loop.advanceTime(by: TimeAmount(ConnectionSettings().pingTimeout))
        #expect(!connection.channel.isActive)
    }

    @Test func aLongSilenceIsEndedByAPingWithTheNextRequest() throws {
        let origin = try network.origin()
        try post(1...1, to: origin)
        let peer = try #require(network.connections.first?.peer)
        peer.answer(1)
        network.settle()
        network.pass(ConnectionSettings().doubtAfterSilence)
        #expect(peer.pings == 0)
        #expect(origin.post(try #require(answers.exchange(2, deadline: .distantFuture))))
        network.settle()
        #expect(peer.pings == 1)
        #expect(peer.open == [3])
        network.pass(ConnectionSettings().pingAfterSilence)
        #expect(peer.pings == 2)
        #expect(network.connections[0].channel.isActive)
    }

    @Test func aConnectionWithoutWorkIsClosedAfterItsTime() throws {
        var settings = ConnectionSettings()
        settings.idleTimeout = .seconds(10)
        let origin = try network.origin(settings)
        try post(1...1, to: origin)
        let connection = try #require(network.connections.first)
        connection.peer.answer(1)
        network.settle()
        network.pass(.milliseconds(9_999))
        #expect(connection.channel.isActive)
        network.pass(.milliseconds(1))
        #expect(connection.peer.saidGoodbye)
        #expect(!connection.channel.isActive)
    }

    @Test func aBodyIsCutOffAtItsLimit() throws {
        let origin = try network.origin()
        #expect(origin.post(try #require(answers.exchange(1, maxResponseBytes: ByteCount(10)))))
        #expect(origin.post(try #require(answers.exchange(2, maxResponseBytes: ByteCount(3)))))
        network.settle()
        let peer = try #require(network.connections.first?.peer)
        peer.answer(1, body: [UInt8](repeating: 1, count: 40_000))
        peer.answer(3, body: [1, 2, 3])
        network.settle()
        #expect(answers[1] == .success(HTTPResponse(status: 200, body: [UInt8](repeating: 1, count: 10))))
        #expect(answers[2] == .success(HTTPResponse(status: 200, body: [1, 2, 3])))
        #expect(peer.requests.first?.resetCode == NGHTTP2_CANCEL.rawValue)
        #expect(network.connections[0].channel.isActive)
    }

    @Test func responseBeforeTheWholeRequestCounts() throws {
        network.greets = { $0.settings([(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 0)]) }
        let origin = try network.origin()
        try post(1...1, to: origin)
        let peer = try #require(network.connections.first?.peer)
        peer.answer(1)
        network.settle()
        #expect(origin.post(try #require(answers.exchange(2, body: [1, 2, 3]))))
        network.settle()
        #expect(peer.requests.last?.isComplete == false)
        peer.answer(3, status: "413")
        network.settle()
        #expect(answers.status(2) == 413)
        #expect(peer.requests.last?.resetCode == NGHTTP2_CANCEL.rawValue)
    }

    @Test(
        arguments: [
            (type: 1, flags: 5, stream: 1, payload: [0xff, 0xff, 0xff, 0xff]),  // HPACK nonsense
            (type: 1, flags: 5, stream: 8, payload: [0x88]),  // HEADERS on an even stream
            (type: 1, flags: 5, stream: 99, payload: [0x88]),  // on one never opened
            (type: 5, flags: 4, stream: 1, payload: [0, 0, 0, 2, 0x88]),  // PUSH_PROMISE though switched off
            (type: 6, flags: 0, stream: 0, payload: [1]),  // PING of one byte
            (type: 4, flags: 0, stream: 0, payload: [0, 4, 0xff, 0xff, 0xff, 0xff]),  // window too large
            (type: 8, flags: 0, stream: 0, payload: [0, 0, 0, 0]),  // WINDOW_UPDATE by nothing
            (type: 9, flags: 4, stream: 1, payload: [0x88]),  // CONTINUATION of nothing
            (type: 0, flags: 8, stream: 1, payload: [9, 1]),  // padding longer than the frame
        ] as [(type: UInt8, flags: UInt8, stream: Int32, payload: [UInt8])]
    )
    func aHostileFrameEndsTheConnectionAndEveryRequestOnce(
        type: UInt8,
        flags: UInt8,
        stream: Int32,
        payload: [UInt8]
    ) throws {
        let origin = try network.origin()
        try post(1...3, to: origin)
        let connection = try #require(network.connections.first)
        connection.peer.raw(type: type, flags: flags, stream: stream, payload: payload)
        network.settle()
        #expect(!connection.channel.isActive)
        #expect((1...3).allSatisfy { answers.failure($0)?.mayHaveBeenProcessed == true })
        #expect(answers.count == 3)
    }

    @Test func anEndlessAnswerHeaderIsRefused() throws {
        let origin = try network.origin()
        try post(1...1, to: origin)
        let peer = try #require(network.connections.first?.peer)
        peer.raw(type: 1, flags: 0, stream: 1, payload: [0x88])
        let field = [0x00, 0x01, 0x61, 0x7f, 0x81, 0x1e] + [UInt8](repeating: 0x62, count: 4_000)
        for _ in 0..<40 { peer.raw(type: 9, flags: 0, stream: 1, payload: field) }
        peer.raw(type: 9, flags: 4, stream: 1, payload: [])
        network.settle()
        #expect(answers.failure(1)?.reason == .protocolError)
    }
}
