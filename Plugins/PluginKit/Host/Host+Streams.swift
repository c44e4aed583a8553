internal import CarillonABI
import Core
import Synchronization

/// Where a stream leads.
public struct StreamTarget: Sendable {
    /// A name, or an address; IPv6 without brackets. ASCII, at most 253 bytes.
    public var host: String
    /// From 1.
    public var port: UInt16
    /// TLS from the first byte. Otherwise ``HostStream/startTLS()`` may begin it later.
    public var usesTLS = false
    /// A user chose the host: no private addresses.
    public var isUntrusted = false
    /// Until ``StreamEvent/opened``; zero: 30 seconds. At most one minute.
    public var connectTimeout: Duration = .zero
    /// Without a byte in either direction; zero: 5 minutes. At most one hour.
    public var idleTimeout: Duration = .zero
    /// PEM: authorities to trust instead of the system's; empty: the system's.
    public var authorities = ""

    /// A plain connection, with the router's own times and authorities.
    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }
}

/// What happens on a stream, in this order: events come one at a time.
public enum StreamEvent: Sendable, Equatable {
    /// It is connected; and again, when the TLS of ``HostStream/startTLS()`` stands.
    case opened
    /// The other side sent this.
    case received([UInt8])
    /// After ``StreamWrite/busy``: nothing waits any more.
    case drained
    /// The last event. Empty: the plugin or the other side has closed it. Otherwise one word, fit to be an outcome's
    /// reason, such as `timeout`, `tls-name`, `idle` or `reset`.
    case closed(reason: String)
}

/// What became of bytes that were to be written.
public enum StreamWrite: Sendable, Equatable {
    /// They are copied, and sent in the order of the calls.
    case taken
    /// More than 1 MiB would wait: none are taken. ``StreamEvent/drained`` follows.
    case busy
    /// The stream is closed.
    case closed
}

/// A TCP connection, with or without TLS, that the router makes and lends.
///
/// `@unchecked Sendable`: the router writes the number before the first event and before `open` returns, and nothing
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

    /// Sends `bytes`, in the order of the calls; before ``StreamEvent/opened`` they wait.
    public func write(_ bytes: [UInt8]) -> StreamWrite {
        let status = bytes.withUnsafeBytes { functions.write?(host, number.pointee, carillon_bytes($0)) }
        return switch status {
        case .CARILLON_OK?: .taken
        case .CARILLON_BUSY?: .busy
        default: .closed
        }
    }

    /// Begins TLS on a plain stream (STARTTLS) once what was written is sent. ``StreamEvent/opened`` or
    /// ``StreamEvent/closed(reason:)`` follows. Discard what the other side sent in the clear beyond its consent:
    /// somebody may have injected it.
    public func startTLS() { _ = functions.start_tls?(host, number.pointee) }

    /// Sends what waits, for at most 5 s, and closes. ``StreamEvent/closed(reason:)`` follows.
    public func close() { _ = functions.close?(host, number.pointee) }
}

extension Host {
    private static let streams: StaticString = "carillon.stream/1"

    /// Opens a stream. `events` is called for what happens on it, one call at a time, on a thread of the router's and
    /// never from inside this call. ``StreamEvent/closed(reason:)`` comes exactly once, and last.
    ///
    /// - Throws: That the router has no such service, that the target is malformed, or that too many streams are open.
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
        case .CARILLON_BUSY: throw PluginError("no further stream can be opened now")
        default: throw PluginError("the router opens no stream")
        }
    }
}

extension StreamTarget {
    fileprivate var flags: UInt32 {
        (usesTLS ? UInt32(CARILLON_STREAM_TLS) : 0) | (isUntrusted ? UInt32(CARILLON_STREAM_UNTRUSTED_HOST) : 0)
    }
}

/// A stream and who receives its events, behind the ABI's `context`, until it is closed.
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
