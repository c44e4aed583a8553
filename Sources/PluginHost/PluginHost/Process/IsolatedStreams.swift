import CarillonABI
import PluginProtocol
import Synchronization

/// The streams of one process: they end with it.
final class IsolatedStreams: Sendable {
    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: IsolatedStream] = [:]
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// Whether a plugin must still take bytes, or be notified of an end.
    var isBusy: Bool { state.withLock { $0.open.values.contains(where: \.isBusy) } }

    /// Handles a frame of the process. `send` sends one to it.
    func receive(
        _ frame: Frame,
        host: (UInt32) -> (any InstanceHost)?,
        send: @escaping IsolatedStream.Send
    ) throws(ProtocolError) {
        guard frame.kind != .streamOpen else { return try open(frame, host: host, send: send) }
        let (stream, last) = state.withLock { ($0.open[frame.id], $0.last) }
        // The stream has ended, which the process did not know yet.
        guard frame.id <= last else { throw .unexpected(frame.kind) }
        switch frame.kind {
        case .streamWrite: try stream?.write(try StreamBytesMessage(reading: frame).bytes)
        case .streamStartTLS: try stream?.startTLS(try StreamCountMessage(reading: frame).total)
        case .streamTaken: try stream?.take(try StreamCountMessage(reading: frame).total)
        case .streamClose:
            switch try StreamCloseMessage(reading: frame).meaning {
            case .close: stream?.close()
            case .told: try stream?.noteTold()
            }
        default: throw .unexpected(frame.kind)
        }
    }

    private func open(
        _ frame: Frame,
        host: (UInt32) -> (any InstanceHost)?,
        send: @escaping IsolatedStream.Send
    ) throws(ProtocolError) {
        let message = try StreamOpenMessage(reading: frame)
        let number = frame.id
        let isNew = state.withLock { state in
            guard number > state.last else { return false }
            state.last = number
            return true
        }
        guard isNew else { throw .unexpected(.streamOpen) }
        let stream = IsolatedStream(number, send: send) { [weak self] in
            _ = self?.state.withLock { $0.open.removeValue(forKey: number) }
        }
        switch host(message.instance)?.openStream(message, stream) ?? .refused(.CARILLON_INVALID) {
        case .refused(let status): stream.refuse(status == .CARILLON_BUSY ? .shutDown : .refused)
        case .opened(let connection):
            stream.connection = connection
            let hasEnded = state.withLock { state in
                state.open[number] = stream
                return state.hasEnded
            }
            connection.start()
            if hasEnded { stream.abandon() }
        }
    }

    /// Closes all streams after the process has ended; no plugin is notified.
    func end() {
        let open = state.withLock { state in
            state.hasEnded = true
            return Array(state.open.values)
        }
        for stream in open { stream.abandon() }
    }
}

/// One stream of a process: its events are sent there as frames.
final class IsolatedStream: StreamReceiver {
    typealias Send = @Sendable (FrameKind, UInt64, (inout FrameWriter) -> Void) -> Void

    private struct State {
        var connection: (any StreamConnection)?
        /// The number of bytes that the process may write.
        var sending = SendWindow()
        var window = ReceiveWindow()
        /// From the process's request for TLS until it is active.
        var isStartingTLS = false
        var isAbandoned = false
        /// Called when the plugin has been notified of the end.
        var done: (@Sendable () -> Void)?
        var hasEnded = false
    }

    private let number: UInt64
    private let send: Send
    private let forget: @Sendable () -> Void
    private let state = Mutex(State())

    init(_ number: UInt64, send: @escaping Send, forget: @escaping @Sendable () -> Void) {
        self.number = number
        self.send = send
        self.forget = forget
    }

    /// Set once, before it starts.
    var connection: (any StreamConnection)? {
        get { state.withLock(\.connection) }
        set { state.withLock { $0.connection = newValue } }
    }

    var isBusy: Bool { state.withLock { $0.window.isBehind || $0.done != nil } }

    // MARK: From the host

    func opened() {
        state.withLock { $0.isStartingTLS = false }
        send(.streamOpened, number) { _ in }
    }

    func received(_ bytes: UnsafeRawBufferPointer) {
        let (mustPause, connection) = state.withLock { state in
            (state.isStartingTLS ? nil : state.window.give(bytes.count), state.connection)
        }
        guard let mustPause else { return connection?.end(.tls) ?? () }
        send(.streamReceived, number) { StreamBytesMessage.write(bytes, to: &$0) }
        if mustPause { connection?.setReading(false) }
    }

    func sent(_ total: UInt64) {
        state.withLock { _ = $0.sending.sent(total) }
        send(.streamDrained, number) { StreamCountMessage(total: total).write(to: &$0) }
    }

    func closed(_ failure: StreamError?, done: @escaping @Sendable () -> Void) {
        let isAbandoned = state.withLock { state in
            state.hasEnded = true
            if !state.isAbandoned { state.done = done }
            return state.isAbandoned
        }
        guard !isAbandoned else { return finish(done) }
        sendClosed(failure)
    }

    /// Ends a stream that the host did not open.
    func refuse(_ failure: StreamError) { sendClosed(failure) }

    private func sendClosed(_ failure: StreamError?) {
        var text = failure?.rawValue ?? ""
        text.withUTF8 { text in
            send(.streamClosed, number) { StreamBytesMessage.write(UnsafeRawBufferPointer(text), to: &$0) }
        }
    }

    private func finish(_ done: () -> Void) {
        forget()
        state.withLock { $0.connection = nil }
        done()
    }

    // MARK: From the process

    /// An honest process keeps the limit; a violation is hostile.
    func write(_ bytes: carillon_bytes) throws(ProtocolError) {
        let isWithin = state.withLock { $0.hasEnded || $0.sending.take(bytes.len) }
        guard isWithin else { throw .tooMany }
        connection?.write(Array(UnsafeRawBufferPointer(start: bytes.ptr, count: bytes.len)))
    }

    /// If the plugin has not taken all unencrypted bytes, the rest would look as if TLS had protected it.
    func startTLS(_ total: UInt64) throws(ProtocolError) {
        try take(total)
        let (isInjected, connection) = state.withLock { state in
            state.isStartingTLS = true
            return (state.window.isOpen, state.connection)
        }
        if isInjected { connection?.end(.tls) } else { connection?.startTLS() }
    }

    func take(_ total: UInt64) throws(ProtocolError) {
        let (report, connection) = state.withLock { ($0.window.took(total), $0.connection) }
        switch report {
        case .nothing: break
        case .resume: connection?.setReading(true)
        case .impossible: throw .unknownValue
        }
    }

    func close() { connection?.close() }

    /// Notes that the plugin was notified of the end.
    func noteTold() throws(ProtocolError) {
        let done = state.withLock { state in
            defer { state.done = nil }
            return state.done
        }
        guard let done else { throw .unexpected(.streamClose) }
        finish(done)
    }

    /// Ends it after its process has ended.
    func abandon() {
        let (done, connection) = state.withLock { state in
            state.isAbandoned = true
            defer { state.done = nil }
            return (state.done, state.hasEnded ? nil : state.connection)
        }
        if let done { return finish(done) }
        connection?.close()
    }
}
