internal import CarillonABI
import Core
import Synchronization

/// The address and options of a stream.
public struct StreamTarget: Sendable {
    /// A name, or an address; IPv6 without brackets. ASCII, up to 253 bytes.
    public var host: String
    /// The port, from 1.
    public var port: UInt16
    /// Whether TLS starts with the first byte. Otherwise ``HostStream/startTLS()`` may start it later.
    public var usesTLS = false
    /// Whether a user chose the host: private addresses are then rejected.
    public var isUntrusted = false
    /// The time until ``StreamEvent/opened``, up to one minute. Zero: 30 seconds.
    public var connectTimeout: Duration = .zero
    /// The time without a byte in either direction, up to one hour. Zero: 5 minutes.
    public var idleTimeout: Duration = .zero
    /// The CA certificates to trust, as PEM. Empty: those of the system.
    public var authorities = ""

    /// Makes a target for a plain connection with the router's default timeouts and CA certificates.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// An event of a stream. Events come one at a time.
public enum StreamEvent: Sendable, Equatable {
    /// The stream is connected; sent again when the TLS of ``HostStream/startTLS()`` is established.
    case opened
    /// The peer sent these bytes.
    case received([UInt8])
    /// After ``StreamWrite/busy``: the buffer is empty again.
    case drained
    /// The last event. The reason is empty if the plugin or the peer closed the stream. Otherwise it is one word that
    /// can be an outcome's reason, such as `timeout`, `tls-name`, `idle` or `reset`.
    case closed(reason: String)
}

/// The result of a write.
public enum StreamWrite: Sendable, Equatable {
    /// The bytes were copied and are sent in the order of the calls.
    case taken
    /// No bytes were taken, because more than 1 MiB would be buffered. ``StreamEvent/drained`` follows.
    case busy
    /// The stream is closed.
    case closed
}

/// A TCP connection through the router, with or without TLS.
///
/// ```swift
/// let stream = try host.openStream(to: StreamTarget(host: "mail.example.com", port: 25)) { stream, event in
///     if case .received(let bytes) = event { … }
/// }
/// ```
///
/// `@unchecked Sendable`: the router writes the number before the first event and before `open` returns, and it never
/// changes afterwards.
public final class HostStream: @unchecked Sendable {
    private let host: UnsafePointer<carillon_host>
    private let functions: carillon_streams
    private let number: UnsafeMutablePointer<UInt64>

    fileprivate init(_ host: UnsafePointer<carillon_host>, _ functions: carillon_streams) {
        self.host = host
        self.functions = functions
        number = .allocate(capacity: 1)
        number.initialize(to: 0)
    }

    deinit { number.deallocate() }

    fileprivate func open(
        _ target: StreamTarget,
        _ events: @escaping @Sendable (HostStream, StreamEvent) -> Void
    ) -> carillon_status {
        guard let open = functions.open else { return .CARILLON_UNSUPPORTED }
        let context = OpenStream(self, events).retainedPointer()
        var (name, authorities) = (target.host, target.authorities)
        let status = name.withUTF8 { name in
            authorities.withUTF8 { authorities in
                var form = carillon_stream_target()
                form.struct_size = UInt32(MemoryLayout<carillon_stream_target>.size)
                form.flags = target.flags
                form.host = carillon_str(UnsafeRawBufferPointer(name))
                form.port = UInt32(target.port)
                form.connect_timeout_ms = UInt32(clamping: target.connectTimeout.milliseconds)
                form.idle_timeout_ms = UInt32(clamping: target.idleTimeout.milliseconds)
                form.authorities = carillon_str(UnsafeRawBufferPointer(authorities))
                var functions = carillon_stream_events()
                functions.struct_size = UInt32(MemoryLayout<carillon_stream_events>.size)
                functions.opened = streamOpened
                functions.received = streamReceived
                functions.drained = streamDrained
                functions.closed = streamClosed
                return open(host, &form, &functions, context, number)
            }
        }
        if status != .CARILLON_OK { OpenStream.release(context) }
        return status
    }

    /// Sends `bytes` in the order of the calls; until ``StreamEvent/opened`` they are buffered.
    public func write(_ bytes: [UInt8]) -> StreamWrite {
        let status = bytes.withUnsafeBytes { functions.write?(host, number.pointee, carillon_bytes($0)) }
        return switch status {
        case .CARILLON_OK?: .taken
        case .CARILLON_BUSY?: .busy
        default: .closed
        }
    }

    /// Starts TLS on a plain stream (STARTTLS) after all written bytes are sent. ``StreamEvent/opened`` or
    /// ``StreamEvent/closed(reason:)`` follows. Discard plain text that the peer sent after its consent, because an
    /// attacker may have injected it.
    public func startTLS() { _ = functions.start_tls?(host, number.pointee) }

    /// Sends buffered bytes for up to 5 s, then closes the stream. ``StreamEvent/closed(reason:)`` follows.
    public func close() { _ = functions.close?(host, number.pointee) }
}

extension Host {
    private static let streams: StaticString = "carillon.stream/1"

    /// Opens a stream. The router calls `events` for its events, one call at a time, on a router thread and never from
    /// inside this call. ``StreamEvent/closed(reason:)`` comes exactly once, as the last event.
    ///
    /// - Throws: An error if the router has no such service, the target is malformed, or too many streams are open.
    public func openStream(
        to target: StreamTarget,
        events: @escaping @Sendable (HostStream, StreamEvent) -> Void
    ) throws(PluginError) -> HostStream {
        guard let functions = service(Self.streams, carillon_streams.self) else {
            throw .missingService(Self.streams)
        }
        let stream = HostStream(pointer, functions)
        switch stream.open(target, events) {
        case .CARILLON_OK: return stream
        case .CARILLON_INVALID: throw PluginError("the target of a stream is malformed: its host, port or a timeout")
        case .CARILLON_UNSUPPORTED: throw PluginError("the router does not know a flag of the stream's target")
        case .CARILLON_BUSY: throw PluginError("too many streams are open, or the router is shutting down")
        default: throw PluginError("the router could not open a stream")
        }
    }
}

extension StreamTarget {
    fileprivate var flags: UInt32 {
        (usesTLS ? UInt32(CARILLON_STREAM_TLS) : 0) | (isUntrusted ? UInt32(CARILLON_STREAM_UNTRUSTED_HOST) : 0)
    }
}

/// A stream and its event handler, behind the ABI's `context`, until the stream is closed.
private final class OpenStream {
    let stream: HostStream
    let events: @Sendable (HostStream, StreamEvent) -> Void

    init(_ stream: HostStream, _ events: @escaping @Sendable (HostStream, StreamEvent) -> Void) {
        self.stream = stream
        self.events = events
    }

    func retainedPointer() -> UnsafeMutableRawPointer { Unmanaged.passRetained(self).toOpaque() }

    static func release(_ context: UnsafeMutableRawPointer) {
        Unmanaged<OpenStream>.fromOpaque(context).release()
    }

    static func receive(_ event: StreamEvent, _ context: UnsafeMutableRawPointer?) {
        guard let context else { return }
        let open = Unmanaged<OpenStream>.fromOpaque(context)
        let stream = if case .closed = event { open.takeRetainedValue() } else { open.takeUnretainedValue() }
        stream.events(stream.stream, event)
    }
}

private func streamOpened(_ context: UnsafeMutableRawPointer?) { OpenStream.receive(.opened, context) }

private func streamReceived(_ context: UnsafeMutableRawPointer?, _ bytes: carillon_bytes) {
    OpenStream.receive(.received(Array(UnsafeRawBufferPointer(start: bytes.ptr, count: bytes.len))), context)
}

private func streamDrained(_ context: UnsafeMutableRawPointer?) { OpenStream.receive(.drained, context) }

private func streamClosed(_ context: UnsafeMutableRawPointer?, _ failure: carillon_str) {
    let bytes = UnsafeRawBufferPointer(start: failure.ptr, count: failure.len)
    OpenStream.receive(.closed(reason: String(decoding: bytes, as: UTF8.self)), context)
}
