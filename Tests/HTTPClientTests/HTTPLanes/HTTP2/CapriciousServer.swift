import CNghttp2
import RandomTestSupport

@testable import HTTPClient

/// An nghttp2 server session that randomly does everything that RFC 9113 allows, and records it. An independent
/// implementation thus judges every frame of this side.
final class CapriciousServer {
    struct Request {
        var fields: [String: String] = [:]
        var body: [UInt8] = []
        var isComplete = false
        var isAnswered = false
        var resetBy: String?
    }

    private(set) var requests: [Int32: Request] = [:]
    /// The responses, by path.
    private(set) var responses: [String: HTTPResponse] = [:]
    /// The errors that nghttp2 found.
    private(set) var complaints: [String] = []
    private(set) var lastByGoAway: Int32?
    private(set) var resets: [Int32: UInt32] = [:]
    private var random: SeededGenerator
    private var session: OpaquePointer?
    private var bodies: [Int32: ArraySlice<UInt8>] = [:]
    private var trailers: Set<Int32> = []
    private var unconsumed: [Int32: Int] = [:]

    init(seed: Int) {
        random = SeededGenerator(seed: UInt64(seed))
        var callbacks: OpaquePointer?
        nghttp2_session_callbacks_new(&callbacks)
        var options: OpaquePointer?
        nghttp2_option_new(&options)
        defer {
            nghttp2_session_callbacks_del(callbacks)
            nghttp2_option_del(options)
        }
        nghttp2_option_set_no_auto_window_update(options, 1)
        install(in: callbacks)
        nghttp2_session_server_new2(&session, callbacks, Unmanaged.passUnretained(self).toOpaque(), options)
        changeSettings()
    }

    deinit {
        nghttp2_session_del(session)
    }

    func receive(_ bytes: [UInt8]) {
        let count = nghttp2_session_mem_recv(session, bytes, bytes.count)
        if count != bytes.count { complaints.append("mem_recv: \(count)") }
    }

    func takeOutput() -> [UInt8] {
        var output: [UInt8] = []
        var frame: UnsafePointer<UInt8>?
        while case let count = nghttp2_session_mem_send(session, &frame), count > 0 {
            output += UnsafeBufferPointer(start: frame, count: count)
        }
        return output
    }

    /// Performs one random action.
    func act() {
        switch random.number(0...19) {
        case 0: changeSettings()
        case 1: nghttp2_submit_ping(session, 0, nil)
        case 2: resetOne()
        case 3 where random.once(in: 60) && lastByGoAway == nil: goAway()
        case 4...9: consume(random.number(1...70_000))
        default: answerOne()
        }
    }

    /// Opens every window and answers all complete requests.
    func calmDown() {
        if lastByGoAway == nil { submitSettings([(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, 65_535)]) }
        consume(.max)
        // Sorted by number, like all random choices here: a seed must give the same run in each process.
        for (stream, request) in requests.sorted(by: { $0.key < $1.key }) where isOpen(stream, request) {
            answer(stream)
        }
    }

    private func isOpen(_ stream: Int32, _ request: Request) -> Bool {
        request.isComplete && !request.isAnswered && request.resetBy == nil
    }

    private func answerOne() {
        let open = requests.filter { isOpen($0.key, $0.value) }.keys.sorted()
        if let stream = open.randomElement(using: &random) { answer(stream) }
    }

    private func resetOne() {
        let open = requests.filter { $0.value.resetBy == nil }.keys.sorted()
        guard let stream = open.randomElement(using: &random), nghttp2_session_find_stream(session, stream) != nil
        else { return }
        // An answered request cannot be refused.
        let codes = [NGHTTP2_INTERNAL_ERROR, NGHTTP2_CANCEL, NGHTTP2_NO_ERROR]
        let isRefusable = requests[stream]?.isAnswered == false
        let code = (isRefusable ? codes + [NGHTTP2_REFUSED_STREAM] : codes).randomElement(using: &random)?.rawValue ?? 0
        requests[stream]?.resetBy = "server"
        resets[stream] = code
        nghttp2_submit_rst_stream(session, 0, stream, code)
    }

    private func goAway() {
        let last = nghttp2_session_get_last_proc_stream_id(session)
        lastByGoAway = last
        nghttp2_submit_goaway(session, 0, last, 0, nil, 0)
    }

    private func consume(_ count: Int) {
        for (stream, waiting) in unconsumed.sorted(by: { $0.key < $1.key }) {
            let now = min(waiting, count)
            // On a stream that is closed only the connection's window is left to open.
            if nghttp2_session_find_stream(session, stream) == nil {
                nghttp2_session_consume_connection(session, now)
            } else {
                nghttp2_session_consume(session, stream, now)
            }
            unconsumed[stream] = waiting == now ? nil : waiting - now
        }
    }

    private func changeSettings() {
        let choices: [(nghttp2_settings_id, [UInt32])] = [
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, [0, 1, 100, 5_000, 65_535, 1_000_000]),
            (NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, [0, 64, 200, 1_000, 4_096, 65_536]),
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, [1, 2, 5, 100]),
            (NGHTTP2_SETTINGS_MAX_FRAME_SIZE, [16_384, 20_000, 16_777_215]),
        ]
        submitSettings(
            choices.filter { _ in random.once(in: 2) }.map { ($0.0, $0.1.randomElement(using: &random) ?? 0) }
        )
    }

    private func submitSettings(_ entries: [(nghttp2_settings_id, UInt32)]) {
        let entries = entries.map { nghttp2_settings_entry(settings_id: Int32($0.0.rawValue), value: $0.1) }
        nghttp2_submit_settings(session, 0, entries, entries.count)
    }

    private func answer(_ stream: Int32) {
        guard nghttp2_session_find_stream(session, stream) != nil else { return }
        requests[stream]?.isAnswered = true
        while random.once(in: 6) {
            submit([HTTPField(":status", "103"), HTTPField("link", "</style.css>")]) {
                _ = nghttp2_submit_headers(session, 0, stream, nil, $0, $1, nil)
            }
        }
        let status = [200, 201, 400, 410, 429, 503].randomElement(using: &random) ?? 200
        var fields: [HTTPField] = [HTTPField("apns-id", "\(stream)"), HTTPField("server", "capricious")]
        if random.once(in: 8) {
            for number in 0..<random.number(1...15) {
                fields.append(HTTPField("x-\(number)", String(repeating: "v", count: random.number(0...4_000))))
            }
        }
        let length = random.once(in: 10) ? random.number(1...90_000) : random.number(0...1) * 40
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: stream), count: length)
        if random.once(in: 3) { fields.append(HTTPField("content-length", String(body.count))) }
        if random.once(in: 6) { trailers.insert(stream) }
        bodies[stream] = body[...]
        responses[requests[stream]?.fields[":path"] ?? ""] =
            HTTPResponse(status: status, headers: HTTPFields(fields), body: body)
        submit([HTTPField(":status", String(status))] + fields) { fields, count in
            var provider = nghttp2_data_provider()
            provider.read_callback = { _, stream, bytes, size, flags, _, me in
                CapriciousServer.of(me).readBody(
                    stream,
                    UnsafeMutableRawBufferPointer(start: bytes, count: size),
                    flags
                )
            }
            let hasContent = !body.isEmpty || trailers.contains(stream)
            if hasContent {
                nghttp2_submit_response(session, stream, fields, count, &provider)
            } else {
                nghttp2_submit_response(session, stream, fields, count, nil)
            }
        }
    }

    private func readBody(
        _ stream: Int32,
        _ destination: UnsafeMutableRawBufferPointer,
        _ flags: UnsafeMutablePointer<UInt32>?
    ) -> Int {
        guard let body = bodies[stream] else { return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue) }
        let piece = body.prefix(random.number(1...max(1, destination.count)))
        destination.copyBytes(from: piece)
        bodies[stream] = body.dropFirst(piece.count)
        guard piece.count == body.count else { return piece.count }
        flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
        if trailers.contains(stream) {
            flags?.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
            submit([HTTPField("x-trailer", "t")]) { _ = nghttp2_submit_trailer(session, stream, $0, $1) }
        }
        return piece.count
    }

    /// Calls `body` with `fields` as nghttp2 takes them; it copies them.
    private func submit(_ fields: [HTTPField], _ body: (UnsafeMutablePointer<nghttp2_nv>?, Int) -> Void) {
        var texts = fields.flatMap { Array($0.name.utf8) + Array($0.value.utf8) }
        texts.withUnsafeMutableBufferPointer { texts in
            var start = 0
            var pairs: [nghttp2_nv] = []
            for field in fields {
                let (name, value) = (field.name.utf8.count, field.value.utf8.count)
                let base = texts.baseAddress.map { $0 + start }
                pairs.append(
                    nghttp2_nv(name: base, value: base.map { $0 + name }, namelen: name, valuelen: value, flags: 0)
                )
                start += name + value
            }
            pairs.withUnsafeMutableBufferPointer { body($0.baseAddress, $0.count) }
        }
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> CapriciousServer {
        guard let pointer else { preconditionFailure("nghttp2 lost its user data") }
        return Unmanaged<CapriciousServer>.fromOpaque(pointer).takeUnretainedValue()
    }
}

extension CapriciousServer {
    private func install(in callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            frame,
            name,
            nameLength,
            value,
            length,
            _,
            me in
            guard let frame else { return 0 }
            let stream = UnsafeRawPointer(frame).load(as: nghttp2_frame_hd.self).stream_id
            let name = String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self)
            let value = String(decoding: UnsafeBufferPointer(start: value, count: length), as: UTF8.self)
            CapriciousServer.of(me).requests[stream, default: Request()].fields[name] = value
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, me in
            let server = CapriciousServer.of(me)
            server.requests[stream, default: Request()].body += UnsafeBufferPointer(start: bytes, count: count)
            server.unconsumed[stream, default: 0] += count
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, me in
            guard let frame else { return 0 }
            CapriciousServer.of(me).received(UnsafeRawPointer(frame))
            return 0
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { _, frame, code, me in
            let header = frame.map { UnsafeRawPointer($0).load(as: nghttp2_frame_hd.self) } ?? nghttp2_frame_hd()
            let server = CapriciousServer.of(me)
            server.complaints.append(
                "frame of type \(header.type) on stream \(header.stream_id) after GOAWAY "
                    + "\(server.lastByGoAway ?? -1): error \(code)"
            )
            return 0
        }
        nghttp2_session_callbacks_set_error_callback2(callbacks) { _, code, text, count, me in
            let text = UnsafeRawBufferPointer(start: text, count: count)
            CapriciousServer.of(me).complaints.append("\(code): " + String(decoding: text, as: UTF8.self))
            return 0
        }
        nghttp2_session_callbacks_set_select_padding_callback(callbacks) { _, frame, limit, me in
            guard let frame else { return 0 }
            let server = CapriciousServer.of(me)
            let padding = server.random.once(in: 3) ? server.random.number(0...60) : 0
            return min(limit, UnsafeRawPointer(frame).load(as: nghttp2_frame_hd.self).length + padding)
        }
    }

    private func received(_ frame: UnsafeRawPointer) {
        let header = frame.load(as: nghttp2_frame_hd.self)
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if header.flags & 1 != 0 { requests[header.stream_id]?.isComplete = true }
        case NGHTTP2_RST_STREAM.rawValue:
            requests[header.stream_id]?.resetBy = "client"
        case NGHTTP2_GOAWAY.rawValue:
            let code = frame.load(as: nghttp2_goaway.self).error_code
            if code != 0 { complaints.append("the client said GOAWAY: \(code)") }
        default:
            break
        }
    }
}
