import CarillonABI
import PluginIsolation
import PluginProtocol
import Streams
import Synchronization
import Units

/// The streams of one instance: those of a plugin in this process by the numbers that it knows, and those of a plugin
/// in a process of its own, which has other numbers.
final class PluginStreams: Sendable {
    private struct State {
        var last: UInt64 = 0
        var connections: [UInt64: any StreamConnection] = [:]
        /// Of a plugin in this process.
        var plugins: [UInt64: PluginStream] = [:]
        var isEnding = false
    }

    private let connector: any StreamConnector
    private let state = Mutex(State())

    init(_ connector: any StreamConnector) { self.connector = connector }

    /// `open` of the service, for a plugin in this process.
    func open(
        _ target: UnsafePointer<carillon_stream_target>?,
        _ events: UnsafePointer<carillon_stream_events>?,
        _ context: UnsafeMutableRawPointer?,
        _ number: UnsafeMutablePointer<UInt64>?,
        for bridge: PluginBridge
    ) -> carillon_status {
        do throws(StreamForm.Flaw) {
            guard let number else { throw StreamForm.Flaw("stream is NULL") }
            let target = try StreamForm.checked(target)
            let plugin = PluginStream(try StreamForm.checked(events), context, bridge)
            guard let (own, connection) = begin(StreamTarget(target), plugin, bridge) else { return .CARILLON_BUSY }
            plugin.begin(connection, isPlain: target.flags & UInt32(CARILLON_STREAM_TLS) == 0)
            state.withLock { $0.plugins[own] = plugin }
            // Before anything can happen on it.
            number.pointee = own
            connection.start()
            return .CARILLON_OK
        } catch {
            bridge.noteStream(error.text)
            return error.status
        }
    }

    /// A stream of a plugin in a process of its own. It does nothing before its start.
    func open(
        _ target: UnsafePointer<carillon_stream_target>,
        _ receiver: any StreamReceiver,
        for bridge: PluginBridge
    ) -> StreamOpening {
        do throws(StreamForm.Flaw) {
            let target = StreamTarget(try StreamForm.checked(target))
            guard let (_, connection) = begin(target, receiver, bridge) else { return .refused(.CARILLON_BUSY) }
            return .opened(connection)
        } catch {
            bridge.noteStream(error.text)
            return .refused(error.status)
        }
    }

    private func begin(
        _ target: StreamTarget,
        _ receiver: any StreamReceiver,
        _ bridge: PluginBridge
    ) -> (UInt64, any StreamConnection)? {
        guard bridge.change({ $0.beginStream() }) else { return nil }
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let counted = CountedStream(receiver) { [self] failure in
            state.withLock { state in
                state.connections[number] = nil
                state.plugins[number] = nil
            }
            bridge.change { $0.endStream(failure) }
        }
        let connection = connector.stream(to: target, counted)
        let isEnding = state.withLock { state in
            state.connections[number] = connection
            return state.isEnding
        }
        if isEnding { connection.end(.shutDown) }
        return (number, connection)
    }

    /// The stream of that number, of a plugin in this process.
    subscript(_ number: UInt64) -> PluginStream? { state.withLock { $0.plugins[number] } }

    /// Ends all streams, as the instance ends.
    func endAll() {
        let connections = state.withLock { state in
            state.isEnding = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.end(.shutDown) }
    }
}

/// Passes everything on, and notes the end.
private final class CountedStream: StreamReceiver {
    private let receiver: any StreamReceiver
    private let ended: @Sendable (StreamFailure?) -> Void

    init(_ receiver: any StreamReceiver, ended: @escaping @Sendable (StreamFailure?) -> Void) {
        self.receiver = receiver
        self.ended = ended
    }

    func opened() { receiver.opened() }
    func received(_ bytes: UnsafeRawBufferPointer) { receiver.received(bytes) }
    func sent(_ total: UInt64) { receiver.sent(total) }

    func closed(_ failure: StreamFailure?, done: @escaping @Sendable () -> Void) {
        receiver.closed(failure) { [ended] in
            ended(failure)
            done()
        }
    }
}

/// A stream of a plugin in this process.
///
/// `@unchecked Sendable`: the context is the plugin's own business and never looked into here.
final class PluginStream: StreamReceiver, @unchecked Sendable {
    private struct State {
        var connection: (any StreamConnection)?
        var window = SendWindow()
        var isPlain = false
        /// What the plugin was inside of when it used the stream last: the events that follow come of that.
        var note = LastingNote.current
    }

    private let events: carillon_stream_events
    private let context: UnsafeMutableRawPointer?
    private let bridge: PluginBridge
    private let state = Mutex(State())

    init(_ events: carillon_stream_events, _ context: UnsafeMutableRawPointer?, _ bridge: PluginBridge) {
        self.events = events
        self.context = context
        self.bridge = bridge
    }

    fileprivate func begin(_ connection: any StreamConnection, isPlain: Bool) {
        state.withLock { state in
            state.connection = connection
            state.isPlain = isPlain
        }
    }

    // MARK: From the plugin

    func write(_ bytes: carillon_bytes) -> carillon_status {
        guard let bytes = StreamForm.written(bytes) else {
            bridge.noteStream("bytes is NULL with a length, or longer than 1 MiB")
            return .CARILLON_INVALID
        }
        let (count, taken, note) = (bytes.count, Array(bytes), LastingNote.current)
        return state.withLock { state in
            if let note { state.note = note }
            guard let connection = state.connection else { return .CARILLON_INVALID }
            guard state.window.take(count) else { return .CARILLON_BUSY }
            connection.write(taken)
            return .CARILLON_OK
        }
    }

    func startTLS() -> carillon_status {
        let connection = state.withLock { state -> (any StreamConnection)? in
            guard state.isPlain else { return nil }
            state.isPlain = false
            return state.connection
        }
        connection?.startTLS()
        return connection == nil ? .CARILLON_INVALID : .CARILLON_OK
    }

    func close() -> carillon_status {
        let connection = takeConnection()
        connection?.close()
        return connection == nil ? .CARILLON_INVALID : .CARILLON_OK
    }

    private func takeConnection() -> (any StreamConnection)? {
        state.withLock { state in
            defer { state.connection = nil }
            return state.connection
        }
    }

    // MARK: From the connection

    func opened() { call { $0.opened?($1) } }

    func received(_ bytes: UnsafeRawBufferPointer) {
        call { $0.received?($1, carillon_bytes(ptr: bytes.baseAddress, len: bytes.count)) }
    }

    func sent(_ total: UInt64) {
        guard state.withLock({ $0.window.sent(total) }) == .drained else { return }
        call { $0.drained?($1) }
    }

    func closed(_ failure: StreamFailure?, done: @escaping @Sendable () -> Void) {
        _ = takeConnection()
        var text = failure?.rawValue ?? ""
        text.withUTF8 { text in
            call { $0.closed?($1, carillon_str(ptr: UnsafeRawPointer(text.baseAddress), len: text.count)) }
        }
        done()
    }

    private func call(_ body: (carillon_stream_events, UnsafeMutableRawPointer?) -> Void) {
        guard bridge.change({ $0.enter() }) else { return }
        LastingNote.during(.stream, state.withLock(\.note)) { body(events, context) }
        bridge.change { $0.leave() }
    }
}

extension StreamTarget {
    private static let usualConnectTimeout: Duration = .seconds(30)
    private static let usualIdleTimeout: Duration = .minutes(5)

    /// What `target` says, which has been checked.
    fileprivate init(_ target: carillon_stream_target) {
        self.init(
            host: String(
                decoding: UnsafeRawBufferPointer(start: target.host.ptr, count: target.host.len),
                as: UTF8.self
            ),
            port: UInt16(clamping: target.port),
            usesTLS: target.flags & UInt32(CARILLON_STREAM_TLS) != 0,
            isUntrusted: target.flags & UInt32(CARILLON_STREAM_UNTRUSTED_HOST) != 0,
            connectTimeout: target.connect_timeout_ms == 0
                ? Self.usualConnectTimeout : .milliseconds(target.connect_timeout_ms),
            idleTimeout: target.idle_timeout_ms == 0 ? Self.usualIdleTimeout : .milliseconds(target.idle_timeout_ms),
            authorities: Array(UnsafeRawBufferPointer(start: target.authorities.ptr, count: target.authorities.len))
        )
    }
}
