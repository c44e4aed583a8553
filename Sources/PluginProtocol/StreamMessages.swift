import CarillonABI

// The bodies of frames about streams. Each frame's id is the number of the stream, which the child gives: every new one
// is higher than those before, across all instances of the process.

/// `streamOpened`: nothing.
package enum StreamOpenedMessage {
    package static func read(_ frame: Frame) throws(ProtocolError) { try frame.fields.end(frame.kind) }
}

/// `streamOpen`: instance, flags, port, both timeouts in milliseconds, host, authorities.
package struct StreamOpenMessage {
    package let instance: UInt32
    private var target = carillon_stream_target()

    package static func write(instance: UInt32, _ target: carillon_stream_target, to writer: inout FrameWriter) {
        writer.number(instance)
        writer.number(target.flags)
        writer.number(target.port)
        writer.number(target.connect_timeout_ms)
        writer.number(target.idle_timeout_ms)
        writer.text(target.host)
        writer.text(target.authorities)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        target.struct_size = UInt32(MemoryLayout<carillon_stream_target>.size)
        target.flags = try fields.number32()
        target.port = try fields.number32()
        target.connect_timeout_ms = try fields.number32()
        target.idle_timeout_ms = try fields.number32()
        target.host = try fields.text()
        target.authorities = try fields.text()
        try fields.end(frame.kind)
    }

    /// Lends the struct for the time of `body`.
    package func lend<Result>(_ body: (UnsafePointer<carillon_stream_target>) -> Result) -> Result {
        withUnsafePointer(to: target, body)
    }
}

/// `streamWrite` and `streamReceived`: bytes, and `streamClosed`: the failure, which is empty where one of the two
/// sides closed it.
package struct StreamBytesMessage {
    /// Points into the frame.
    package let bytes: carillon_bytes

    package static func write(_ bytes: UnsafeRawBufferPointer, to writer: inout FrameWriter) {
        writer.text(carillon_bytes(ptr: bytes.baseAddress, len: bytes.count))
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        bytes = try fields.text()
        try fields.end(frame.kind)
    }
}

/// `streamTaken` and `streamStartTLS`: how many bytes the plugin has taken in all, and `streamDrained`: how many have
/// been sent in all.
package struct StreamCountMessage: Equatable {
    package let total: UInt64

    package init(total: UInt64) { self.total = total }

    package func write(to writer: inout FrameWriter) { writer.number(total) }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        total = try fields.number64()
        try fields.end(frame.kind)
    }
}

/// `streamClose`: the plugin closes the stream, or has been told that it is closed and needs it no more.
package struct StreamCloseMessage: Equatable {
    package enum Meaning: UInt32, Sendable, CaseIterable {
        case close = 0
        case told = 1
    }

    package let meaning: Meaning

    package init(_ meaning: Meaning) { self.meaning = meaning }

    package func write(to writer: inout FrameWriter) { writer.number(meaning.rawValue) }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        guard let meaning = Meaning(rawValue: try fields.number32()) else { throw .unknownValue }
        self.meaning = meaning
        try fields.end(frame.kind)
    }
}
