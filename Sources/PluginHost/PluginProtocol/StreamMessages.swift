import CarillonABI

// Bodies of the frames about streams. Each frame's id is the number of the stream. The child assigns increasing numbers
// across all instances of the process.

/// `streamOpened`, which has no body.
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

    /// Calls `body` with the struct, which is valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafePointer<carillon_stream_target>) -> Result) -> Result {
        withUnsafePointer(to: target, body)
    }
}

/// `streamWrite` and `streamReceived`: bytes. `streamClosed`: the failure, empty if one of the two sides closed the
/// stream.
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

/// `streamTaken` and `streamStartTLS`: the total of bytes that the plugin has taken. `streamDrained`: the total of
/// bytes sent.
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

/// `streamClose`: the plugin closes the stream, or was notified that it is closed and no longer needs it.
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

/// The send buffer's accounting for a stream. Pure; the router and the plugin's process keep one each.
package struct SendWindow: Sendable {
    /// The maximum number of bytes that wait to be sent.
    package static let limit = 1 << 20

    /// Bytes accepted so far.
    private var taken: UInt64 = 0
    /// Bytes sent so far.
    private var sent: UInt64 = 0
    /// Whether the plugin waits for `drained`.
    private var owesDrained = false

    package init() {}

    /// Accepts `count` more bytes. False if too many would wait; then none are accepted.
    package mutating func take(_ count: Int) -> Bool {
        guard UInt64(count) + (taken - sent) <= UInt64(Self.limit) else {
            owesDrained = true
            return false
        }
        taken += UInt64(count)
        return true
    }

    /// The meaning of a report of sent bytes.
    package enum Report: Sendable, Equatable {
        case nothing
        /// All bytes are sent, and the plugin waits for `drained`.
        case drained
        /// Fewer bytes than before, or more than were accepted: a protocol error.
        case impossible
    }

    /// Records that `total` bytes have been sent.
    package mutating func sent(_ total: UInt64) -> Report {
        guard total >= sent, total <= taken else { return .impossible }
        sent = total
        guard owesDrained, sent == taken else { return .nothing }
        owesDrained = false
        return .drained
    }
}

/// The flow control of a stream's received bytes: the router stops reading while the plugin has too many left to take.
/// Pure; the router keeps one.
package struct ReceiveWindow: Sendable {
    /// The maximum number of bytes that the plugin has not taken, except those already read.
    package static let limit = 256 << 10
    /// The plugin's process reports after this many bytes.
    package static let reportInterval = 64 << 10

    /// Bytes given to the process so far.
    private var given: UInt64 = 0
    /// Bytes the plugin has taken so far.
    private var taken: UInt64 = 0
    private var isPaused = false

    package init() {}

    /// Whether the plugin has not taken everything.
    package var isOpen: Bool { given > taken }

    /// Whether a report of the process is overdue.
    package var isBehind: Bool { given - taken >= UInt64(Self.reportInterval) }

    /// Records `count` more bytes. True: the caller must pause reading.
    package mutating func give(_ count: Int) -> Bool {
        given += UInt64(count)
        guard !isPaused, given - taken >= UInt64(Self.limit) else { return false }
        isPaused = true
        return true
    }

    /// The meaning of a report of taken bytes.
    package enum Report: Sendable, Equatable {
        case nothing
        /// Reading may resume.
        case resume
        /// Less than before, or more than was given.
        case impossible
    }

    /// Records that the plugin has taken `total` bytes.
    package mutating func took(_ total: UInt64) -> Report {
        guard total >= taken, total <= given else { return .impossible }
        taken = total
        guard isPaused, given - taken <= UInt64(Self.limit / 2) else { return .nothing }
        isPaused = false
        return .resume
    }
}
