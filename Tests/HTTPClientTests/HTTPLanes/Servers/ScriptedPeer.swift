import CNghttp2
import NIOCore

/// The far side of a connection in memory: an nghttp2 *server* session whose frames the test controls, so that the
/// library itself checks HPACK and framing.
final class ScriptedPeer {
    struct Request: Equatable {
        var streamID: Int32
        var headers: [String: String] = [:]
        var neverIndexed: Set<String> = []
        var body: [UInt8] = []
        var isComplete = false
        var resetCode: UInt32?
    }

    private struct Body {
        var left: ArraySlice<UInt8>
        var endsStream: Bool
    }

    private(set) var requests: [Request] = []
    private(set) var pings = 0
    private(set) var saidGoodbye = false
    private var session: OpaquePointer?
    private var output: [UInt8] = []
    private var answered: Set<Int32> = []
    private var bodies: [Int32: Body] = [:]

    init() {
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        defer { nghttp2_session_callbacks_del(callbacks) }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            frame,
            name,
            nameLength,
            value,
            length,
            flags,
            me in
            guard let frame else { return 0 }
            let stream = UnsafeRawPointer(frame).load(as: nghttp2_frame_hd.self).stream_id
            let name = String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self)
            ScriptedPeer.of(me).change(stream) {
                $0.headers[name] = String(decoding: UnsafeBufferPointer(start: value, count: length), as: UTF8.self)
                if UInt32(flags) & NGHTTP2_NV_FLAG_NO_INDEX.rawValue != 0 { $0.neverIndexed.insert(name) }
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, me in
            ScriptedPeer.of(me).change(stream) { $0.body += UnsafeBufferPointer(start: bytes, count: count) }
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, me in
            guard let frame else { return 0 }
            ScriptedPeer.of(me).received(UnsafeRawPointer(frame))
            return 0
        }
        nghttp2_session_server_new(&session, callbacks, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit {
        nghttp2_session_del(session)
    }

    /// Requests that are complete and neither answered nor reset; oldest first.
    var open: [Int32] {
        requests.filter { $0.isComplete && $0.resetCode == nil && !answered.contains($0.streamID) }.map(\.streamID)
    }

    func receive(_ bytes: [UInt8]) {
        _ = nghttp2_session_mem_recv(session, bytes, bytes.count)
    }

    /// Returns all output since the last call.
    func takeOutput() -> [UInt8] {
        var frame: UnsafePointer<UInt8>?
        while case let count = nghttp2_session_mem_send(session, &frame), count > 0 {
            output += UnsafeBufferPointer(start: frame, count: count)
        }
        defer { output = [] }
        return output
    }

    func settings(_ entries: [(nghttp2_settings_id, UInt32)] = []) {
        let entries = entries.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        nghttp2_submit_settings(session, 0, entries, entries.count)
    }

    func settings(maxConcurrentStreams: UInt32) {
        settings([(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, maxConcurrentStreams)])
    }

    func answer(_ stream: Int32, status: String = "200", body: [UInt8] = [], endStream: Bool = true) {
        answered.insert(stream)
        bodies[stream] = Body(left: body[...], endsStream: endStream)
        var name = Array(":status".utf8)
        var value = Array(status.utf8)
        name.withUnsafeMutableBufferPointer { name in
            value.withUnsafeMutableBufferPointer { value in
                var field = nghttp2_nv(
                    name: name.baseAddress,
                    value: value.baseAddress,
                    namelen: name.count,
                    valuelen: value.count,
                    flags: 0
                )
                var provider = nghttp2_data_provider()
                provider.read_callback = { _, stream, bytes, size, flags, _, me in
                    ScriptedPeer.of(me).readBody(
                        stream,
                        UnsafeMutableRawBufferPointer(start: bytes, count: size),
                        flags
                    )
                }
                nghttp2_submit_response(session, stream, &field, 1, &provider)
            }
        }
    }

    private func readBody(
        _ stream: Int32,
        _ destination: UnsafeMutableRawBufferPointer,
        _ flags: UnsafeMutablePointer<UInt32>?
    ) -> Int {
        guard var body = bodies[stream] else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        guard !body.left.isEmpty || body.endsStream else { return Int(NGHTTP2_ERR_DEFERRED.rawValue) }
        let piece = body.left.prefix(destination.count)
        destination.copyBytes(from: piece)
        body.left = body.left.dropFirst(piece.count)
        bodies[stream] = body
        if body.left.isEmpty, body.endsStream { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
        return piece.count
    }

    func reset(_ stream: Int32, code: UInt32) {
        answered.insert(stream)
        // Earlier submissions are sent first.
        takeOutputFirst()
        nghttp2_submit_rst_stream(session, 0, stream, code)
    }

    func goAway(lastStreamID: UInt32, code: UInt32 = 0) {
        raw(type: 7, flags: 0, stream: 0, payload: Self.bigEndian(lastStreamID) + Self.bigEndian(code))
    }

    /// Sends any frame, well-formed or not.
    func raw(type: UInt8, flags: UInt8, stream: Int32, payload: [UInt8]) {
        takeOutputFirst()
        let length = Self.bigEndian(UInt32(payload.count)).dropFirst()
        output += length
        output += [type, flags]
        output += Self.bigEndian(UInt32(bitPattern: stream))
        output += payload
    }

    private func takeOutputFirst() {
        output = takeOutput()
    }

    private static func bigEndian(_ number: UInt32) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian, Array.init)
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> ScriptedPeer {
        guard let pointer else { preconditionFailure("nghttp2 lost its user data") }
        return Unmanaged<ScriptedPeer>.fromOpaque(pointer).takeUnretainedValue()
    }

    private func change(_ stream: Int32, _ body: (inout Request) -> Void) {
        let index = requests.firstIndex { $0.streamID == stream } ?? requests.endIndex
        if index == requests.endIndex { requests.append(Request(streamID: stream)) }
        body(&requests[index])
    }

    private func received(_ frame: UnsafeRawPointer) {
        let header = frame.load(as: nghttp2_frame_hd.self)
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if header.flags & 1 != 0 { change(header.stream_id) { $0.isComplete = true } }
        case NGHTTP2_RST_STREAM.rawValue:
            let code = frame.load(as: nghttp2_rst_stream.self).error_code
            change(header.stream_id) { $0.resetCode = code }
        case NGHTTP2_PING.rawValue:
            if header.flags & 1 == 0 { pings += 1 }
        case NGHTTP2_GOAWAY.rawValue:
            saidGoodbye = true
        default:
            break
        }
    }
}
