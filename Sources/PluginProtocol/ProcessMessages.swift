/// `hello`: the first frame that the child sends. The frame's id is 0.
package struct HelloMessage: Equatable {
    /// The version of the protocol. It changes with every change of a frame, for both sides come from one release.
    package static let version: UInt32 = 2

    /// The thread that calls plugins for deliveries, by the kernel's number.
    package var deliveries: UInt32
    /// The thread that calls plugins for questions.
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

    /// - Throws: ``ProtocolError/otherVersion(_:)``, before it looks at what follows the version.
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

/// `pong`: what the process's two callers of plugins are inside of.
package struct PongMessage: Equatable {
    /// A call to a plugin.
    package struct Call: Equatable, Sendable {
        /// Stands in ``kind`` for the call of a timer, which no frame brings about.
        package static let timer: UInt32 = 256

        /// The thread that is inside, by the kernel's number.
        package var thread: UInt32
        /// The kind of the frame that the call is for, or ``timer``; 0: it is in no call.
        package var kind: UInt32
        package var id: UInt64
        /// How long it has been inside, in milliseconds.
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
