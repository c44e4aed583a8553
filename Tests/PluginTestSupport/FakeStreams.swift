package import CarillonABI
import Synchronization

/// A stream that a plugin has opened at a ``FakeHost``, copied.
package struct RecordedStream: Sendable {
    package let host: String
    package let port: UInt32
    package let usesTLS: Bool
    package let isUntrusted: Bool
    /// Milliseconds; 0: the host's own.
    package let connectTimeout: UInt32
    package let idleTimeout: UInt32
    package let authorities: String
    /// All bytes that the plugin wrote so far.
    package var written: [UInt8] = []
    /// How much of `written` was there at each call of `start_tls`.
    package var tlsStarts: [Int] = []
    /// Whether the plugin closed the stream.
    package var isClosing = false
    /// Whether the end was reported to the plugin.
    package var hasEnded = false

    /// The bytes that the plugin wrote, as text.
    package var text: String { String(decoding: written, as: UTF8.self) }
}

/// The service "carillon.stream/1" of a ``FakeHost``: records a plugin's calls on its streams, and reports a test's
/// events to it.
package final class FakeStreams: Sendable {
    // The functions and the context are a plugin's: they are only ever handed back.
    private struct Stream: @unchecked Sendable {
        var record: RecordedStream
        let events: carillon_stream_events
        let context: UnsafeMutableRawPointer?
    }

    private struct State {
        var streams: [Stream] = []
        var admission = carillon_status.CARILLON_OK
        var writing = carillon_status.CARILLON_OK
    }

    private let state = Mutex(State())

    /// The streams so far, in the order of their opening.
    package var all: [RecordedStream] { state.withLock { $0.streams.map(\.record) } }

    /// Sets the result of the next `open`; if it is not OK, no event follows.
    package func setAdmission(_ status: carillon_status) { state.withLock { $0.admission = status } }

    /// Sets the result of the next `write`.
    package func setWriting(_ status: carillon_status) { state.withLock { $0.writing = status } }

    /// Reports that the stream at `index` is connected, or that its TLS handshake is complete.
    package func opened(_ index: Int = 0) { tell(index) { $0.opened?($1) } }

    /// The other side sent `bytes`.
    package func receive(_ bytes: [UInt8], on index: Int = 0) {
        tell(index) { events, context in
            bytes.withUnsafeBytes { events.received?(context, carillon_bytes(ptr: $0.baseAddress, len: $0.count)) }
        }
    }

    /// The other side sent `text`.
    package func receive(_ text: String, on index: Int = 0) { receive(Array(text.utf8), on: index) }

    /// Reports that the send buffer is empty.
    package func drained(_ index: Int = 0) { tell(index) { $0.drained?($1) } }

    /// Ends the stream; an empty string means a clean end. Only the first end counts.
    package func end(_ index: Int = 0, _ failure: String = "") {
        let stream = state.withLock { state -> Stream? in
            guard state.streams.indices.contains(index), !state.streams[index].record.hasEnded else { return nil }
            state.streams[index].record.hasEnded = true
            return state.streams[index]
        }
        guard let stream else { return }
        var failure = failure
        failure.withUTF8 { stream.events.closed?(stream.context, carillon_str(ptr: $0.baseAddress, len: $0.count)) }
    }

    /// Ends all streams, as a host does at shutdown.
    func endAll() {
        for index in all.indices { end(index, "shut-down") }
    }

    private func tell(_ index: Int, _ body: (carillon_stream_events, UnsafeMutableRawPointer?) -> Void) {
        let stream = state.withLock { state -> Stream? in
            guard state.streams.indices.contains(index), !state.streams[index].record.hasEnded else { return nil }
            return state.streams[index]
        }
        if let stream { body(stream.events, stream.context) }
    }

    // MARK: The service's functions

    func table() -> carillon_streams {
        carillon_streams(
            struct_size: UInt32(MemoryLayout<carillon_streams>.size),
            reserved: 0,
            open: openStream,
            write: writeStream,
            start_tls: startTLS,
            close: closeStream
        )
    }

    fileprivate func open(
        _ target: carillon_stream_target,
        _ events: carillon_stream_events,
        _ context: UnsafeMutableRawPointer?,
        _ number: UnsafeMutablePointer<UInt64>
    ) -> carillon_status {
        let record = RecordedStream(
            host: FakeHost.text(target.host),
            port: target.port,
            usesTLS: target.flags & UInt32(CARILLON_STREAM_TLS) != 0,
            isUntrusted: target.flags & UInt32(CARILLON_STREAM_UNTRUSTED_HOST) != 0,
            connectTimeout: target.connect_timeout_ms,
            idleTimeout: target.idle_timeout_ms,
            authorities: FakeHost.text(target.authorities)
        )
        let stream = Stream(record: record, events: events, context: context)
        let (status, count) = state.withLock { state in
            if state.admission == .CARILLON_OK { state.streams.append(stream) }
            return (state.admission, state.streams.count)
        }
        if status == .CARILLON_OK { number.pointee = UInt64(count) }
        return status
    }

    /// Changes the record of an open stream; INVALID if there is no stream with that number.
    fileprivate func change(_ number: UInt64, _ body: (inout RecordedStream) -> Void) -> carillon_status {
        state.withLock { state in
            guard let index = Int(exactly: number).map({ $0 - 1 }), state.streams.indices.contains(index),
                !state.streams[index].record.hasEnded, !state.streams[index].record.isClosing
            else { return .CARILLON_INVALID }
            body(&state.streams[index].record)
            return .CARILLON_OK
        }
    }

    fileprivate func write(_ number: UInt64, _ bytes: carillon_bytes) -> carillon_status {
        let writing = state.withLock(\.writing)
        guard writing == .CARILLON_OK else { return writing }
        return change(number) { $0.written += UnsafeRawBufferPointer(start: bytes.ptr, count: bytes.len) }
    }
}

private func openStream(
    _ host: UnsafePointer<carillon_host>?,
    _ target: UnsafePointer<carillon_stream_target>?,
    _ events: UnsafePointer<carillon_stream_events>?,
    _ context: UnsafeMutableRawPointer?,
    _ number: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    guard let host = FakeHost.at(host), let target, let events, let number else { return .CARILLON_INVALID }
    return host.streams.open(target.pointee, events.pointee, context, number)
}

private func writeStream(
    _ host: UnsafePointer<carillon_host>?,
    _ number: UInt64,
    _ bytes: carillon_bytes
) -> carillon_status {
    FakeHost.at(host)?.streams.write(number, bytes) ?? .CARILLON_INVALID
}

private func startTLS(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    FakeHost.at(host)?.streams.change(number) { $0.tlsStarts.append($0.written.count) } ?? .CARILLON_INVALID
}

private func closeStream(_ host: UnsafePointer<carillon_host>?, _ number: UInt64) -> carillon_status {
    FakeHost.at(host)?.streams.change(number) { $0.isClosing = true } ?? .CARILLON_INVALID
}
