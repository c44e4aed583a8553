import CarillonABI
import PluginIsolation
import Streams

// The functions of the service "carillon.stream/1".

/// The struct of the service "carillon.stream/1".
let streamTable = carillon_streams(
    struct_size: UInt32(MemoryLayout<carillon_streams>.size),
    reserved: 0,
    open: hostStreamOpen,
    write: hostStreamWrite,
    start_tls: hostStreamStartTLS,
    close: hostStreamClose
)

/// A plugin's process asks for a stream.
@Sendable func hostOpenStream(
    _ host: UnsafePointer<carillon_host>,
    _ target: UnsafePointer<carillon_stream_target>,
    _ receiver: any StreamReceiver
) -> StreamOpening {
    guard let bridge = bridge(of: host) else { return .refused(.CARILLON_INVALID) }
    return bridge.streams.open(target, receiver, for: bridge)
}

private func hostStreamOpen(
    _ host: UnsafePointer<carillon_host>?,
    _ target: UnsafePointer<carillon_stream_target>?,
    _ events: UnsafePointer<carillon_stream_events>?,
    _ context: UnsafeMutableRawPointer?,
    _ number: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    guard let bridge = bridge(of: host) else { return .CARILLON_INVALID }
    return bridge.streams.open(target, events, context, number, for: bridge)
}

private func hostStreamWrite(
    _ host: UnsafePointer<carillon_host>?,
    _ number: UInt64,
    _ bytes: carillon_bytes
) -> carillon_status {
    bridge(of: host)?.streams[number]?.write(bytes) ?? .CARILLON_INVALID
}

private func hostStreamStartTLS(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    bridge(of: host)?.streams[number]?.startTLS() ?? .CARILLON_INVALID
}

private func hostStreamClose(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    bridge(of: host)?.streams[number]?.close() ?? .CARILLON_INVALID
}
