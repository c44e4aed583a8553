import CarillonABI
import Core
import PluginProtocol
import Synchronization

/// The open streams of one instance.
final class PluginStreams: Sendable {
    private struct State {
        var last: UInt64 = 0
        var connections: [UInt64: any StreamConnection] = [:]
        var isEnding = false
    }

    private let connector: any StreamConnector
    private let state = Mutex(State())

    init(_ connector: any StreamConnector) { self.connector = connector }

    /// Opens a stream for the plugin's process. The stream is idle until its start.
    func open(
        _ message: StreamOpenMessage,
        _ receiver: any StreamReceiver,
        for bridge: PluginBridge
    ) -> StreamOpening {
        do throws(FormError) {
            let target = try message.withCStruct { target in
                Result { () throws(FormError) in StreamTarget(try StreamForm.checked(target)) }
            }.get()
            guard let connection = begin(target, receiver, bridge) else { return .refused(.CARILLON_BUSY) }
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
    ) -> (any StreamConnection)? {
        guard bridge.change({ $0.beginStream() }) else { return nil }
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        let counted = CountedStream(receiver) { [self] failure in
            state.withLock { $0.connections[number] = nil }
            bridge.change { $0.endStream(failure) }
        }
        let connection = connector.stream(to: target, counted)
        let isEnding = state.withLock { state in
            state.connections[number] = connection
            return state.isEnding
        }
        if isEnding { connection.end(.shutDown) }
        return connection
    }

    /// Ends all streams, because the instance ends.
    func endAll() {
        let connections = state.withLock { state in
            state.isEnding = true
            return Array(state.connections.values)
        }
        for connection in connections { connection.end(.shutDown) }
    }
}

/// Forwards all calls, and reports the end.
private final class CountedStream: StreamReceiver {
    private let receiver: any StreamReceiver
    private let ended: @Sendable (StreamError?) -> Void

    init(_ receiver: any StreamReceiver, ended: @escaping @Sendable (StreamError?) -> Void) {
        self.receiver = receiver
        self.ended = ended
    }

    func opened() { receiver.opened() }
    func received(_ bytes: UnsafeRawBufferPointer) { receiver.received(bytes) }
    func sent(_ total: UInt64) { receiver.sent(total) }

    func closed(_ failure: StreamError?, done: @escaping @Sendable () -> Void) {
        receiver.closed(failure) { [ended] in
            ended(failure)
            done()
        }
    }
}

extension StreamTarget {
    private static let usualConnectTimeout: Duration = .seconds(30)
    private static let usualIdleTimeout: Duration = .minutes(5)

    /// A target with the fields of `target`, which has been checked.
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
            idleTimeout: target.idle_timeout_ms == 0 ? Self.usualIdleTimeout : .milliseconds(target.idle_timeout_ms)
        )
        authorities = Array(UnsafeRawBufferPointer(start: target.authorities.ptr, count: target.authorities.len))
    }
}
