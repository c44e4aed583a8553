import CarillonABI
import Core
import Dispatch
import HTTPClient
import PluginHost
import PluginProtocol
import Synchronization

/// The host for plugins under check: it sends no requests, returns prepared responses, and logs everything.
///
/// It is never freed, so that late calls of a plugin are detected.
final class CheckHost: Sendable {
    /// How requests are answered.
    enum Behavior: Sendable {
        case answer(Answer)
        /// Only after ``release(_:)``.
        case hold
        /// The host refuses requests.
        case refuse
    }

    /// Unchecked: the pointer belongs to the plugin and is never dereferenced here.
    private struct Reply: @unchecked Sendable {
        let done: carillon_http_done
        let context: UnsafeMutableRawPointer?
    }

    private struct Shell {
        var log = CheckLog()
        var behavior = Behavior.answer(Answer(200))
        var held: [Reply] = []
    }

    private let shell = Mutex(Shell())
    /// The plugin's streams.
    let streams = CheckStreams()
    private let changed = DispatchSemaphore(value: 0)
    private let queue = DispatchQueue(label: "carillon.check", attributes: .concurrent)
    private let placement: Arena.Placement
    private let shape: StructShape
    /// Timers, and the instance's stored state.
    let services: CheckServices

    /// A host with `kept` state from an earlier instance.
    init(_ placement: Arena.Placement, _ shape: StructShape, keeping kept: [StateEntry] = []) {
        self.placement = placement
        self.shape = shape
        services = CheckServices(kept)
    }

    /// The `carillon_host` for the plugin, valid until the process ends. Call this once.
    func openForPlugin() -> UnsafePointer<carillon_host>? {
        let arena = Arena(placement, shape)
        _ = Unmanaged.passRetained(arena)
        return arena.borrow(
            carillon_host(
                struct_size: 0,
                abi_minor: shape == .longer ? UInt32(CARILLON_ABI_MINOR) + 1 : UInt32(CARILLON_ABI_MINOR),
                host_data: Unmanaged.passRetained(self).toOpaque(),
                log: checkLog,
                complete: checkComplete,
                http_request: checkHTTPRequest,
                query: checkQuery
            )
        )
    }

    var log: CheckLog { shell.withLock(\.log) }

    func note<Result: Sendable>(_ body: (inout CheckLog) -> Result) -> Result {
        defer { changed.signal() }
        return shell.withLock { body(&$0.log) }
    }

    func set(_ behavior: Behavior) { shell.withLock { $0.behavior = behavior } }

    /// Answers all held requests and stops holding: later requests get `next`, or the same response.
    func release(_ answer: Answer, then next: Answer? = nil) {
        let held = shell.withLock { shell in
            shell.behavior = .answer(next ?? answer)
            defer { shell.held = [] }
            return shell.held
        }
        for reply in held { send(answer, reply) }
        streams.end(Self.failure(of: answer))
    }

    /// Returns how a stream ends while requests get `answer`, because no server here speaks the plugin's protocol.
    private static func failure(of answer: Answer) -> String {
        answer.failure.isEmpty ? "unreachable" : answer.failure
    }

    /// Waits up to `span` until `condition` holds. For one thread at a time.
    func wait(_ span: Duration, until condition: (CheckLog) -> Bool) -> Bool {
        let deadline = DispatchTime.now() + .milliseconds(Int(span.milliseconds))
        while !condition(log) {
            if changed.wait(timeout: deadline) == .timedOut { return condition(log) }
        }
        return true
    }

    /// `carillon_host.http_request`.
    func take(
        _ pointer: UnsafePointer<carillon_http_request>?,
        _ done: carillon_http_done?,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        do throws(FormError) {
            guard let done else { throw FormError("done is NULL") }
            var (request, connection) = try HTTPRequest.reading(pointer)
            if !connection.isEmpty { request.scope = ConnectionScope(word: connection) }
            let reply = Reply(done: done, context: context)
            let isTokenRequest = request.body.starts(with: "grant_type=".utf8)
            let answer = note(reply, request)
            switch answer {
            case .refuse: return .CARILLON_BUSY
            case .hold: break
            case .answer(let answer): send(isTokenRequest ? .accessToken : answer, reply)
            }
            return .CARILLON_OK
        } catch {
            note { $0.flaw(error.text) }
            return error.status
        }
    }

    /// `carillon_host.query`.
    func service(_ name: carillon_str) -> UnsafeRawPointer? {
        guard let name = RequestForm.bytes(name, limit: 128),
            let service = CheckedService.all.first(where: { $0.name.withUTF8Buffer { $0.elementsEqual(name) } })
        else { return nil }
        let arena = Arena(placement, shape)
        _ = Unmanaged.passRetained(arena)
        return service.borrow(arena)
    }

    /// Passes a value that is valid only during the call; its memory is freed afterwards.
    func borrow(_ bytes: [UInt8], to value: carillon_value, _ context: UnsafeMutableRawPointer?) {
        let arena = Arena(placement, shape)
        withExtendedLifetime(arena) { value(context, arena.text(bytes)) }
    }

    /// `url` of the service for inbound requests.
    func sayInboundURL(_ value: carillon_value?, _ context: UnsafeMutableRawPointer?) -> carillon_status {
        guard let value else {
            note { $0.flaw("it requests its URL without a function that receives it") }
            return .CARILLON_INVALID
        }
        borrow(Array("https://push.example.com/plugins/conformance/default".utf8), to: value, context)
        return .CARILLON_OK
    }

    /// `present` of the service for client certificates.
    func present(
        _ certificates: carillon_str,
        _ key: carillon_str,
        on connection: carillon_str,
        _ room: UnsafeMutablePointer<carillon_error>?
    ) -> carillon_status {
        do throws(CertificateError) {
            _ = try ClientCertificate.reading(certificates, key, on: connection)
            return .CARILLON_OK
        } catch {
            if case .word = error { note { $0.flaw("it presents a certificate, but \(error.text)") } }
            ErrorBuffer.write(error.text, to: room)
            return .CARILLON_INVALID
        }
    }

    /// `open` of the service for streams.
    func openStream(
        _ target: UnsafePointer<carillon_stream_target>?,
        _ events: UnsafePointer<carillon_stream_events>?,
        _ context: UnsafeMutableRawPointer?,
        _ number: UnsafeMutablePointer<UInt64>?
    ) -> carillon_status {
        note { $0.opensStream() }
        let failure: String?
        switch shell.withLock(\.behavior) {
        case .refuse: return .CARILLON_BUSY
        case .hold: failure = nil
        case .answer(let answer): failure = Self.failure(of: answer)
        }
        do throws(FormError) {
            return try streams.open(target, events, context, number, failure: failure)
        } catch {
            note { $0.streamFlaw(error.text) }
            return error.status
        }
    }

    /// `write` of the service for streams.
    func writeStream(_ number: UInt64, _ bytes: carillon_bytes) -> carillon_status {
        guard StreamForm.written(bytes) != nil else {
            note { $0.streamFlaw("bytes is NULL with a length, or longer than 1 MiB") }
            return .CARILLON_INVALID
        }
        return streams.use(number)
    }

    private func note(_ reply: Reply, _ request: HTTPRequest) -> Behavior {
        defer { changed.signal() }
        return shell.withLock { shell in
            switch shell.behavior {
            case .refuse: break
            case .hold:
                shell.held.append(reply)
                shell.log.request(request)
            case .answer: shell.log.request(request)
            }
            return shell.behavior
        }
    }

    private func send(_ answer: Answer, _ reply: Reply) {
        queue.async { [self] in
            let arena = Arena(placement, shape)
            withExtendedLifetime(arena) { reply.done(reply.context, answer.borrow(in: arena)) }
            note { $0.requestIsDone() }
        }
    }
}

// Functions, not closures: a closure written in an isolated context traps when a plugin calls it from another thread.

/// Reads `host_data` by its offset: the struct may be shorter or longer than this build's.
func checkHost(of host: UnsafePointer<carillon_host>?) -> CheckHost? {
    guard let data = host?.pointee.host_data else { return nil }
    return Unmanaged<CheckHost>.fromOpaque(data).takeUnretainedValue()
}

func checkLog(_ host: UnsafePointer<carillon_host>?, _: carillon_log_level, _ message: carillon_str) {
    guard let host = checkHost(of: host), let start = message.ptr else { return }
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: min(message.len, 65_536)))
    host.note { $0.line(bytes) }
}

func checkComplete(
    _ host: UnsafePointer<carillon_host>?,
    _ ticket: UInt64,
    _ outcome: UnsafePointer<carillon_outcome>?
) {
    let ending = Ending(reading: outcome)
    checkHost(of: host)?.note { $0.end(ticket, ending) }
}

func checkHTTPRequest(
    _ host: UnsafePointer<carillon_host>?,
    _ request: UnsafePointer<carillon_http_request>?,
    _ done: carillon_http_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    checkHost(of: host)?.take(request, done, context) ?? .CARILLON_INVALID
}

func checkQuery(_ host: UnsafePointer<carillon_host>?, _ service: carillon_str) -> UnsafeRawPointer? {
    checkHost(of: host)?.service(service)
}

func checkPresent(
    _ host: UnsafePointer<carillon_host>?,
    _ connection: carillon_str,
    _ certificates: carillon_str,
    _ key: carillon_str,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    checkHost(of: host)?.present(certificates, key, on: connection, error) ?? .CARILLON_INVALID
}

func checkInboundURL(
    _ host: UnsafePointer<carillon_host>?,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    checkHost(of: host)?.sayInboundURL(value, context) ?? .CARILLON_INVALID
}

func checkInboundDone(_ context: UnsafeMutableRawPointer?, _ answer: UnsafePointer<carillon_inbound_answer>?) {
    CheckedCommand.at(context)?.answer(answer)
}

func checkCommandDone(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
    CheckedCommand.at(context)?.answer(status, answer)
}
