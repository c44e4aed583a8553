import CarillonABI
import PluginProtocol
import Synchronization

/// The plugins' side of the streams of all instances. The router owns the connections.
final class ChildStreams: Sendable {
    /// Unchecked: the pointers belong to the plugin and are never dereferenced here.
    private struct Stream: @unchecked Sendable {
        let instance: PluginInstance
        let events: carillon_stream_events
        let context: UnsafeMutableRawPointer?
        var window = SendWindow()
        /// Bytes given to the plugin.
        var received: UInt64 = 0
        /// The part of them that was reported to the router.
        var reported: UInt64 = 0
        var isPlain: Bool
        /// Bytes that arrive during this time are unencrypted. The router ends the stream because of them, and the
        /// plugin never gets them.
        var isStartingTLS = false
        var isClosing = false
    }

    private struct State {
        var last: UInt64 = 0
        var open: [UInt64: Stream] = [:]
    }

    private let state = Mutex(State())

    // MARK: The service's functions

    func open(
        _ instance: PluginInstance,
        _ target: UnsafePointer<carillon_stream_target>?,
        _ events: UnsafePointer<carillon_stream_events>?,
        _ context: UnsafeMutableRawPointer?,
        _ number: UnsafeMutablePointer<UInt64>?
    ) -> carillon_status {
        let process = instance.process
        do throws(FormError) {
            guard let number else { throw FormError("stream is NULL") }
            let target = try StreamForm.checked(target)
            let stream = Stream(
                instance: instance,
                events: try StreamForm.checked(events),
                context: context,
                isPlain: target.flags & UInt32(CARILLON_STREAM_TLS) == 0
            )
            guard !instance.isClosed else { return .CARILLON_BUSY }
            let place = NumberPlace(pointer: number)
            let isOpen = state.withLock { state in
                guard state.open.values.count(where: { $0.instance === instance }) < StreamForm.streamLimit else {
                    return false
                }
                state.last += 1
                state.open[state.last] = stream
                place.pointer.pointee = state.last
                // Under the lock, because the router expects numbers in order.
                return process.deliveries.send(.streamOpen, id: state.last) {
                    StreamOpenMessage.write(instance: instance.number, target, to: &$0)
                }
            }
            return isOpen ? .CARILLON_OK : .CARILLON_BUSY
        } catch {
            process.note(.stream, of: instance, error.text)
            return error.status
        }
    }

    /// The plugin's memory for the number of a stream.
    ///
    /// Unchecked: it is written before `open` returns.
    private struct NumberPlace: @unchecked Sendable {
        let pointer: UnsafeMutablePointer<UInt64>
    }

    func write(_ instance: PluginInstance, _ number: UInt64, _ bytes: carillon_bytes) -> carillon_status {
        guard let bytes = StreamForm.written(bytes) else {
            instance.process.note(.stream, of: instance, "bytes is NULL with a length, or longer than 1 MiB")
            return .CARILLON_INVALID
        }
        let count = bytes.count
        let status = change(instance, number) { $0.window.take(count) ? .CARILLON_OK : .CARILLON_BUSY }
        guard status == .CARILLON_OK, count > 0 else { return status }
        instance.process.deliveries.send(.streamWrite, id: number) { StreamBytesMessage.write(bytes, to: &$0) }
        return .CARILLON_OK
    }

    func startTLS(_ instance: PluginInstance, _ number: UInt64) -> carillon_status {
        var received: UInt64 = 0
        let status = change(instance, number) { stream in
            guard stream.isPlain else { return .CARILLON_INVALID }
            stream.isPlain = false
            stream.isStartingTLS = true
            stream.reported = stream.received
            received = stream.received
            return .CARILLON_OK
        }
        guard status == .CARILLON_OK else { return status }
        instance.process.deliveries.send(.streamStartTLS, id: number) {
            StreamCountMessage(total: received).write(to: &$0)
        }
        return status
    }

    func close(_ instance: PluginInstance, _ number: UInt64) -> carillon_status {
        let status = change(instance, number) { stream in
            stream.isClosing = true
            return .CARILLON_OK
        }
        guard status == .CARILLON_OK else { return status }
        instance.process.deliveries.send(.streamClose, id: number) { StreamCloseMessage(.close).write(to: &$0) }
        return status
    }

    /// Changes an open stream of the instance; INVALID: it has none of that number.
    private func change(
        _ instance: PluginInstance,
        _ number: UInt64,
        _ body: (inout Stream) -> carillon_status
    ) -> carillon_status {
        state.withLock { state in
            guard var stream = state.open[number], stream.instance === instance, !stream.isClosing else {
                return .CARILLON_INVALID
            }
            defer { state.open[number] = stream }
            return body(&stream)
        }
    }

    // MARK: From the router

    /// Handles a frame of the router about an open stream.
    func receive(_ frame: Frame, _ process: PluginProcess) throws(ProtocolError) {
        guard let stream = state.withLock({ $0.open[frame.id] }) else { throw .unexpected(frame.kind) }
        switch frame.kind {
        case .streamOpened:
            try StreamOpenedMessage.read(frame)
            state.withLock { $0.open[frame.id]?.isStartingTLS = false }
            call(stream, frame) { $0.opened?($1) }
        case .streamReceived:
            let bytes = try StreamBytesMessage(reading: frame).bytes
            let isSuppressed = state.withLock { state in
                guard state.open[frame.id]?.isStartingTLS == false else { return true }
                state.open[frame.id]?.received += UInt64(bytes.len)
                return false
            }
            guard !isSuppressed else { return }
            call(stream, frame) { $0.received?($1, bytes) }
            report(frame.id, process)
        case .streamDrained:
            let total = try StreamCountMessage(reading: frame).total
            switch state.withLock({ $0.open[frame.id]?.window.sent(total) }) {
            case .drained?: call(stream, frame) { $0.drained?($1) }
            case .impossible?: throw .unknownValue
            case .nothing?, nil: break
            }
        case .streamClosed:
            let failure = try StreamBytesMessage(reading: frame).bytes
            state.withLock { $0.open[frame.id] = nil }
            call(stream, frame) { $0.closed?($1, failure) }
            process.deliveries.send(.streamClose, id: frame.id) { StreamCloseMessage(.told).write(to: &$0) }
        default: throw .unexpected(frame.kind)
        }
    }

    private func call(
        _ stream: Stream,
        _ frame: Frame,
        _ body: (carillon_stream_events, UnsafeMutableRawPointer?) -> Void
    ) {
        stream.instance.enter {
            stream.instance.process.deliveryActivity.during(frame.kind, frame.id) {
                body(stream.events, stream.context)
            }
        }
    }

    /// Reports the bytes that the plugin has taken, once there are many.
    private func report(_ number: UInt64, _ process: PluginProcess) {
        let total = state.withLock { state -> UInt64? in
            guard let stream = state.open[number],
                stream.received - stream.reported >= UInt64(ReceiveWindow.reportInterval)
            else { return nil }
            state.open[number]?.reported = stream.received
            return stream.received
        }
        guard let total else { return }
        process.deliveries.send(.streamTaken, id: number) { StreamCountMessage(total: total).write(to: &$0) }
    }
}

// MARK: The service's table

/// The struct of the service "carillon.stream/1".
let streamTable = carillon_streams(
    struct_size: UInt32(MemoryLayout<carillon_streams>.size),
    reserved: 0,
    open: streamOpen,
    write: streamWrite,
    start_tls: streamStartTLS,
    close: streamClose
)

private func streamOpen(
    _ host: UnsafePointer<carillon_host>?,
    _ target: UnsafePointer<carillon_stream_target>?,
    _ events: UnsafePointer<carillon_stream_events>?,
    _ context: UnsafeMutableRawPointer?,
    _ number: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    guard let instance = PluginInstance.of(host) else { return .CARILLON_INVALID }
    return instance.process.streams.open(instance, target, events, context, number)
}

private func streamWrite(
    _ host: UnsafePointer<carillon_host>?,
    _ number: UInt64,
    _ bytes: carillon_bytes
) -> carillon_status {
    guard let instance = PluginInstance.of(host) else { return .CARILLON_INVALID }
    return instance.process.streams.write(instance, number, bytes)
}

private func streamStartTLS(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    guard let instance = PluginInstance.of(host) else { return .CARILLON_INVALID }
    return instance.process.streams.startTLS(instance, number)
}

private func streamClose(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    guard let instance = PluginInstance.of(host) else { return .CARILLON_INVALID }
    return instance.process.streams.close(instance, number)
}
