import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOTLS
import Synchronization

/// One HTTP/2 connection: frames in, frames out.
final class HTTP2Connection: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    typealias OutboundOut = HTTP2Frame

    private let number: Int
    private var streams: HTTP2Streams
    private var responder: any HTTP2Responder

    init(number: Int, responder: any HTTP2Responder, streams: Int) {
        self.number = number
        self.responder = responder
        self.streams = HTTP2Streams(limit: streams)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = unwrapInboundIn(data)
        let stream = Int(frame.streamID)
        switch frame.payload {
        case .headers(let headers):
            let fields = headers.headers.map { LabHeader($0.name, $0.value) }
            follow(streams.open(stream, fields, isComplete: headers.endStream), stream, context)
        case .data(let data):
            guard case .byteBuffer(let buffer) = data.data else { return }
            // Padding counts as well (RFC 9113, section 6.9.1). The connection's window never closes.
            let size = buffer.readableBytes + (data.paddingBytes.map { $0 + 1 } ?? 0)
            if size > 0 {
                write(.windowUpdate(windowSizeIncrement: size), 0, context)
            }
            follow(streams.append(stream, buffer.readableBytesView, isComplete: data.endStream), stream, context)
        case .rstStream:
            streams.close(stream)
        default:
            break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if let closed = event as? StreamClosedEvent {
            streams.close(Int(closed.streamID))
        }
        if case .handshakeCompleted = event as? TLSUserEvent, let limit = responder.begin() {
            limitStreams(limit, context)
            context.flush()
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A stream error already caused RST_STREAM. Other errors end the connection.
        if let error = error as? NIOHTTP2Errors.StreamError {
            streams.close(Int(error.streamID))
        } else {
            context.close(promise: nil)
        }
    }

    private func follow(_ step: HTTP2Streams.Step, _ stream: Int, _ context: ChannelHandlerContext) {
        switch step {
        case .nothing:
            break
        case .refuse:
            write(.rstStream(.refusedStream), stream, context)
        case .decide(var request):
            request.connection = number
            let decision = responder.decide(request)
            if let limit = decision.streamLimit {
                limitStreams(limit, context)
            }
            carryOut(decision, stream, context)
            if request.isCut {
                // The rest of the body is not wanted (RFC 9113, section 8.1).
                write(.rstStream(.noError), stream, context)
            }
        }
    }

    private func carryOut(_ decision: LabDecision, _ stream: Int, _ context: ChannelHandlerContext) {
        switch decision.misbehaviour {
        case nil, .answer, .html:
            answer(decision.answer, stream, context)
        case .limitStreams(let limit):
            limitStreams(limit, context)
            answer(decision.answer, stream, context)
        case .delay(let milliseconds):
            context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(milliseconds))) {
                self.answer(decision.answer, stream, context)
                context.flush()
            }
        case .reset(let code):
            streams.close(stream)
            write(.rstStream(HTTP2ErrorCode(networkCode: Int(code))), stream, context)
        case .silence:
            break
        case .close:
            streams.leaveAtOnce()
            context.flush()
            context.close(promise: nil)
        case .cut:
            sendHalf(of: decision.answer, stream, context)
        case .goAway(let gracefully, let reason, let code):
            // A request on a later stream may have been decided already.
            let last = gracefully ? streams.lastDecided : max(stream - 2, streams.lastDecidedBefore, 0)
            let debugData = reason.map { ByteBuffer(bytes: APNsForm.body(reason: $0)) }
            let lastStreamID = HTTP2StreamID(last)
            streams.leave(after: last)
            let errorCode = HTTP2ErrorCode(networkCode: Int(code))
            write(.goAway(lastStreamID: lastStreamID, errorCode: errorCode, opaqueData: debugData), 0, context)
            if gracefully {
                answer(decision.answer, stream, context)
            }
            context.flush()
            if !gracefully {
                context.close(promise: nil)
            }
        }
    }

    private func answer(_ answer: HTTPAnswer, _ stream: Int, _ context: ChannelHandlerContext) {
        guard streams.isOpen(stream) else { return }
        streams.close(stream)
        write(.headers(.init(headers: fields(of: answer), endStream: answer.body.isEmpty)), stream, context)
        if !answer.body.isEmpty {
            let body = IOData.byteBuffer(context.channel.allocator.buffer(bytes: answer.body))
            write(.data(.init(data: body, endStream: true)), stream, context)
        }
        if streams.isDone {
            context.flush()
            context.close(promise: nil)
        }
    }

    /// Sends the headers and half of the body, without the end of the stream.
    private func sendHalf(of answer: HTTPAnswer, _ stream: Int, _ context: ChannelHandlerContext) {
        streams.leaveAtOnce()
        write(.headers(.init(headers: fields(of: answer), endStream: false)), stream, context)
        let half = answer.body.prefix(answer.body.count / 2)
        if !half.isEmpty {
            let body = IOData.byteBuffer(context.channel.allocator.buffer(bytes: half))
            write(.data(.init(data: body, endStream: false)), stream, context)
        }
        context.flush()
        context.close(promise: nil)
    }

    private func fields(of answer: HTTPAnswer) -> HPACKHeaders {
        var headers = HPACKHeaders([(":status", String(answer.status))])
        for header in answer.headers {
            headers.add(name: header.name, value: header.value, indexing: .nonIndexable)
        }
        return headers
    }

    private func limitStreams(_ limit: Int, _ context: ChannelHandlerContext) {
        streams.limit = limit
        write(.settings(.settings([HTTP2Setting(parameter: .maxConcurrentStreams, value: limit)])), 0, context)
    }

    private func write(_ payload: HTTP2Frame.FramePayload, _ stream: Int, _ context: ChannelHandlerContext) {
        let streamID = stream == 0 ? HTTP2StreamID.rootStream : HTTP2StreamID(stream)
        context.write(wrapOutboundOut(HTTP2Frame(streamID: streamID, payload: payload)), promise: nil)
    }
}

/// Decides the responses to the requests of one HTTP/2 connection, and records them.
protocol HTTP2Responder {
    /// The TLS handshake is complete. Returns a new SETTINGS_MAX_CONCURRENT_STREAMS; nil for no change.
    mutating func begin() -> Int?

    mutating func decide(_ request: LabRequest) -> LabDecision
}

extension HTTP2Responder {
    mutating func begin() -> Int? { nil }
}

/// The client of a connection.
final class HTTP2Peer: Sendable {
    private let shown = Mutex<ProviderCertificate?>(nil)

    /// The certificate from the TLS handshake.
    var certificate: ProviderCertificate? { shown.withLock { $0 } }

    func show(_ certificate: ProviderCertificate?) {
        shown.withLock { $0 = certificate }
    }
}

/// The streams of one HTTP/2 connection: assembles requests, enforces the limit, and knows when a draining connection
/// is done.
///
/// Pure: takes frames by stream number and returns actions.
struct HTTP2Streams {
    private enum Stream {
        case reading(LabRequest)
        case answering
    }

    enum Step {
        case nothing
        /// Above the limit: RST_STREAM with REFUSED_STREAM.
        case refuse
        /// Complete: the responder decides.
        case decide(LabRequest)
    }

    /// The longest part of a body that is read, in bytes; far more than any push service accepts.
    static let bodyLimit = 32_768

    private var streams: [Int: Stream] = [:]
    private var lastAllowed = Int.max
    /// The highest stream whose request was complete.
    private(set) var lastDecided = 0
    /// `lastDecided` before the latest request.
    private(set) var lastDecidedBefore = 0
    /// The last sent SETTINGS_MAX_CONCURRENT_STREAMS.
    var limit: Int

    init(limit: Int) {
        self.limit = limit
    }

    /// The connection is draining and has no outstanding response.
    var isDone: Bool { lastAllowed != .max && streams.isEmpty }

    func isOpen(_ stream: Int) -> Bool { streams[stream] != nil }

    mutating func open(_ stream: Int, _ fields: [LabHeader], isComplete: Bool) -> Step {
        // Trailers: only the end matters.
        if streams[stream] != nil { return isComplete ? complete(stream) : .nothing }
        guard stream <= lastAllowed else { return .nothing }
        guard streams.count < limit else { return .refuse }
        let request = LabRequest(
            method: fields.first { $0.name == ":method" }?.value ?? "",
            uri: fields.first { $0.name == ":path" }?.value ?? "",
            headers: fields.filter { !$0.name.hasPrefix(":") },
            body: []
        )
        streams[stream] = .reading(request)
        return isComplete ? complete(stream) : .nothing
    }

    mutating func append(_ stream: Int, _ bytes: some Collection<UInt8>, isComplete: Bool) -> Step {
        guard case .reading(var request) = streams[stream] else { return .nothing }
        // Removes the second owner of the array, so that appending does not copy it.
        streams[stream] = .answering
        let room = Self.bodyLimit - request.body.count
        request.body.append(contentsOf: bytes.prefix(room))
        request.isCut = request.isCut || bytes.count > room
        streams[stream] = .reading(request)
        // The client's window is used up before twice the limit.
        return isComplete || request.isCut ? complete(stream) : .nothing
    }

    /// The stream got its response, was reset, or was closed by the client.
    mutating func close(_ stream: Int) {
        streams[stream] = nil
    }

    /// Ignores all streams above this one.
    mutating func leave(after stream: Int) {
        lastAllowed = min(lastAllowed, stream)
        streams = streams.filter { $0.key <= stream }
    }

    /// Ignores everything: the connection closes.
    mutating func leaveAtOnce() {
        lastAllowed = 0
        streams.removeAll()
    }

    private mutating func complete(_ stream: Int) -> Step {
        guard case .reading(let request) = streams[stream] else { return .nothing }
        streams[stream] = .answering
        lastDecidedBefore = lastDecided
        lastDecided = max(lastDecided, stream)
        return .decide(request)
    }
}
