/// `hello`: the first frame that the child sends. The frame's id is 0.
package struct HelloMessage: Equatable {
    /// The version of the protocol. Every change of a frame changes it, because both sides come from one release.
    package static let version: UInt32 = 1

    /// The kernel's id of the thread that calls plugins for deliveries.
    package var deliveries: UInt32
    /// The kernel's id of the thread that calls plugins for questions.
    package var questions: UInt32

    package init(deliveries: UInt32, questions: UInt32) {
        self.deliveries = deliveries
        self.questions = questions
    }

    package func write(to writer: inout FrameWriter) {
        writer.number(Self.version)
        writer.number(deliveries)
        writer.number(questions)
    }

    /// - Throws: ``ProtocolError/otherVersion(_:)``, before it reads the fields after the version.
    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        let version = try fields.number32()
        guard version == Self.version else { throw .otherVersion(version) }
        deliveries = try fields.number32()
        questions = try fields.number32()
        try fields.end(frame.kind)
    }
}

/// `ping`, which has no body.
package enum PingMessage {
    package static func read(_ frame: Frame) throws(ProtocolError) { try frame.fields.end(frame.kind) }
}

/// `pong`: the current calls of the two threads that call plugins.
package struct PongMessage: Equatable {
    /// A call to a plugin.
    package struct Call: Equatable, Sendable {
        /// The ``kind`` of a timer's call, which has no frame.
        package static let timer: UInt32 = 256

        /// The kernel's id of the calling thread.
        package var thread: UInt32
        /// The kind of the frame that caused the call, or ``timer``; 0: the thread is in no call.
        package var kind: UInt32
        package var id: UInt64
        /// The time since the call started, in milliseconds.
        package var milliseconds: UInt64

        package init(thread: UInt32, kind: UInt32, id: UInt64, milliseconds: UInt64) {
            self.thread = thread
            self.kind = kind
            self.id = id
            self.milliseconds = milliseconds
        }
    }

    package var deliveries: Call
    package var questions: Call

    package init(deliveries: Call, questions: Call) {
        self.deliveries = deliveries
        self.questions = questions
    }

    package func write(to writer: inout FrameWriter) {
        for call in [deliveries, questions] {
            writer.number(call.thread)
            writer.number(call.kind)
            writer.number(call.id)
            writer.number(call.milliseconds)
        }
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        deliveries = try Self.call(&fields)
        questions = try Self.call(&fields)
        try fields.end(frame.kind)
    }

    private static func call(_ fields: inout FieldReader) throws(ProtocolError) -> Call {
        Call(
            thread: try fields.number32(),
            kind: try fields.number32(),
            id: try fields.number64(),
            milliseconds: try fields.number64()
        )
    }
}
