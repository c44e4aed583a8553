import CarillonABI

/// `load`: the library, and what its process may use. The first question, and asked once for each library.
package struct LoadMessage: Equatable {
    /// Absolute path of the library.
    package var path: String
    /// Most bytes of data memory (`RLIMIT_DATA`); 0: no limit.
    package var memoryLimit: UInt64
    /// Whether the process gives up its rights before it loads the library.
    package var isSandboxed: Bool
    /// Whether no more libraries follow: after this one the second stage of the sandbox closes.
    package var isLast: Bool

    package init(path: String, memoryLimit: UInt64, isSandboxed: Bool, isLast: Bool) {
        self.path = path
        self.memoryLimit = memoryLimit
        self.isSandboxed = isSandboxed
        self.isLast = isLast
    }

    package func write(to writer: inout FrameWriter) {
        writer.text(path)
        writer.number(memoryLimit)
        writer.number(isSandboxed ? UInt32(1) : 0)
        writer.number(isLast ? UInt32(1) : 0)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        path = try fields.string()
        memoryLimit = try fields.number64()
        isSandboxed = try fields.number32() != 0
        isLast = try fields.number32() != 0
        try fields.end(frame.kind)
    }
}

/// `create`: the library by its place among those loaded, transport or filter by its place in the descriptor's list,
/// the number the new instance is to have, its configuration.
package struct CreateMessage: Equatable {
    package enum Table: UInt32, Sendable {
        case transport = 0
        case filter = 1
    }

    package var instance: UInt32
    package var library: UInt32
    package var table: Table
    package var index: UInt32
    package var configuration: String

    package init(instance: UInt32, library: UInt32, table: Table, index: UInt32, configuration: String) {
        self.instance = instance
        self.library = library
        self.table = table
        self.index = index
        self.configuration = configuration
    }

    package func write(to writer: inout FrameWriter) {
        writer.number(instance)
        writer.number(library)
        writer.number(table.rawValue)
        writer.number(index)
        writer.text(configuration)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        library = try fields.number32()
        guard let table = Table(rawValue: try fields.number32()) else { throw .unknownValue }
        self.table = table
        index = try fields.number32()
        configuration = try fields.string()
        try fields.end(frame.kind)
    }
}

/// `answered`: status, a number (what a filter needs, after `create`), a text (what is wrong, or a command's answer).
package struct AnswerMessage {
    package let status: carillon_status
    package let number: UInt32
    /// Points into the frame.
    package let text: carillon_str

    package static func write(
        _ status: carillon_status,
        number: UInt32 = 0,
        _ text: carillon_str,
        to writer: inout FrameWriter
    ) {
        writer.number(UInt32(bitPattern: status.rawValue))
        writer.number(number)
        writer.text(text)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        guard let status = carillon_status(rawValue: Int32(bitPattern: try fields.number32())) else {
            throw .unknownValue
        }
        self.status = status
        number = try fields.number32()
        text = try fields.text()
        try fields.end(frame.kind)
    }
}

/// `pong`: what the process's two callers of plugins are inside of.
package struct PongMessage: Equatable {
    /// A call to a plugin.
    package struct Call: Equatable, Sendable {
        /// The thread that is inside, by the kernel's number.
        package var thread: UInt32
        /// The frame that the call is for; 0: it is in no call.
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
