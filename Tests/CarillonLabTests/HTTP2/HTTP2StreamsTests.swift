import Testing

@testable import CarillonLab

struct HTTP2StreamsTests {
    private let fields = [LabHeader(":method", "POST"), LabHeader(":path", "/3/device/ab"), LabHeader("a", "b")]

    @Test func streamsAboveTheLimitAreRefusedUntilOneIsDone() {
        var streams = HTTP2Streams(limit: 1)
        #expect(streams.open(1, fields, isComplete: false).word == "nothing")
        #expect(streams.open(3, fields, isComplete: true).word == "refuse")
        #expect(streams.append(1, [1], isComplete: true).word == "decide")
        #expect(streams.open(5, fields, isComplete: true).word == "refuse")
        streams.close(1)
        #expect(streams.open(7, fields, isComplete: true).word == "decide")
    }

    @Test func requestIsAssembledFromItsFrames() {
        var streams = HTTP2Streams(limit: 10)
        _ = streams.open(1, fields, isComplete: false)
        _ = streams.append(1, [1, 2], isComplete: false)
        guard case .decide(let request) = streams.append(1, [3], isComplete: true) else {
            Issue.record("the request is not complete")
            return
        }
        #expect(request.body == [1, 2, 3])
        #expect(request.method == "POST")
        #expect(request.headers == [LabHeader("a", "b")])
    }

    @Test func endlessBodyIsCutOff() {
        var streams = HTTP2Streams(limit: 10)
        _ = streams.open(1, fields, isComplete: false)
        let flood = [UInt8](repeating: 0, count: HTTP2Streams.bodyLimit + 1)
        guard case .decide(let request) = streams.append(1, flood, isComplete: false) else {
            Issue.record("the request is not cut")
            return
        }
        #expect(request.isCut)
        #expect(request.body.count == HTTP2Streams.bodyLimit)
        #expect(streams.append(1, flood, isComplete: true).word == "nothing")
    }

    @Test func theLastStreamDecidedAboutIsTheHighestWhateverTheOrder() {
        var streams = HTTP2Streams(limit: 10)
        _ = streams.open(1, fields, isComplete: false)
        _ = streams.open(3, fields, isComplete: true)
        #expect((streams.lastDecidedBefore, streams.lastDecided) == (0, 3))
        _ = streams.append(1, [1], isComplete: true)
        #expect((streams.lastDecidedBefore, streams.lastDecided) == (3, 3))
    }

    @Test func aLeavingConnectionIsDoneWithItsLastStream() {
        var streams = HTTP2Streams(limit: 10)
        for stream in [1, 3, 5] {
            _ = streams.open(stream, fields, isComplete: true)
        }
        #expect(!streams.isDone)
        streams.leave(after: 3)
        #expect(!streams.isOpen(5))
        #expect(streams.open(7, fields, isComplete: true).word == "nothing")
        streams.close(3)
        #expect(!streams.isDone)
        streams.close(1)
        #expect(streams.isDone)
    }
}

extension HTTP2Streams.Step {
    fileprivate var word: String {
        switch self {
        case .nothing: "nothing"
        case .refuse: "refuse"
        case .decide: "decide"
        }
    }
}
