import CarillonABI
import PluginServices

/// `load`: the library, and what its process may use. The first question, and asked once for each library.
package struct LoadMessage: Equatable {
    private static let libraryLimit = 64

    /// Absolute path of the library.
    package var path: String
    /// Absolute paths of all libraries that this process will be asked to load, the same in each question. A process
    /// that gives up its rights keeps that of reading these files; it cannot get it back for another.
    package var libraries: [String]
    /// Most bytes of data memory (`RLIMIT_DATA`); 0: no limit.
    package var memoryLimit: UInt64
    /// Whether the process gives up its rights before it loads the library.
    package var isSandboxed: Bool
    /// Whether no more libraries follow: after this one the second stage of the sandbox closes.
    package var isLast: Bool

    package init(path: String, libraries: [String], memoryLimit: UInt64, isSandboxed: Bool, isLast: Bool) {
        self.path = path
        self.libraries = libraries
        self.memoryLimit = memoryLimit
        self.isSandboxed = isSandboxed
        self.isLast = isLast
    }

    package func write(to writer: inout FrameWriter) {
        writer.text(path)
        writer.number(UInt32(clamping: libraries.count))
        for library in libraries { writer.text(library) }
        writer.number(memoryLimit)
        writer.number(isSandboxed ? UInt32(1) : 0)
        writer.number(isLast ? UInt32(1) : 0)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        path = try fields.string()
        libraries = []
        for _ in 0..<(try fields.count(limit: Self.libraryLimit)) { libraries.append(try fields.string()) }
        memoryLimit = try fields.number64()
        isSandboxed = try fields.number32() != 0
        isLast = try fields.number32() != 0
        try fields.end(frame.kind)
    }
}

/// `create`: the library by its place among those loaded, transport or filter by its place in the descriptor's list,
/// the number the new instance is to have, its configuration, the URL under which it is reached from outside, what is
/// kept for it.
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
    /// Empty: nothing reaches it.
    package var inboundURL: String
    package var state: [StateEntry]

    package init(
        instance: UInt32,
        library: UInt32,
        table: Table,
        index: UInt32,
        configuration: String,
        inboundURL: String = "",
        state: [StateEntry] = []
    ) {
        self.instance = instance
        self.library = library
        self.table = table
        self.index = index
        self.configuration = configuration
        self.inboundURL = inboundURL
        self.state = state
    }

    package func write(to writer: inout FrameWriter) {
        writer.number(instance)
        writer.number(library)
        writer.number(table.rawValue)
        writer.number(index)
        writer.text(configuration)
        writer.text(inboundURL)
        writer.entries(state)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        library = try fields.number32()
        guard let table = Table(rawValue: try fields.number32()) else { throw .unknownValue }
        self.table = table
        index = try fields.number32()
        configuration = try fields.string()
        inboundURL = try fields.string()
        state = try fields.entries()
        try fields.end(frame.kind)
    }
}

/// `answered` and `reply`: status, a number (what a filter needs, after `create`), a text (what is wrong, or a
/// command's answer).
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
        writer.status(status)
        writer.number(number)
        writer.text(text)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        status = try fields.status()
        number = try fields.number32()
        text = try fields.text()
        try fields.end(frame.kind)
    }
}

/// `destroy` and `cancel`: the instance. For `cancel` the frame's id is the ticket.
package struct InstanceMessage: Equatable {
    package var instance: UInt32

    package init(instance: UInt32) { self.instance = instance }

    package func write(to writer: inout FrameWriter) { writer.number(instance) }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        try fields.end(frame.kind)
    }
}

/// `validate`: instance, registration.
package enum ValidateMessage {
    package static func write(instance: UInt32, _ registration: carillon_registration, to writer: inout FrameWriter) {
        writer.number(instance)
        RegistrationMessage.write(registration, to: &writer)
    }

    /// Lends what the frame says to `body`.
    package static func read<Result>(
        _ frame: Frame,
        _ body: (UInt32, UnsafePointer<carillon_registration>) -> Result
    ) throws(ProtocolError) -> Result {
        var fields = frame.fields
        let instance = try fields.number32()
        let registration = try RegistrationMessage(reading: &fields)
        try fields.end(frame.kind)
        return registration.lend { body(instance, $0) }
    }
}

/// `check`: library and transport by their places, a rule's block as JSON.
package struct CheckMessage {
    package let library: UInt32
    package let index: UInt32
    /// Points into the frame.
    package let block: carillon_str

    package static func write(library: UInt32, index: UInt32, _ block: carillon_str, to writer: inout FrameWriter) {
        writer.number(library)
        writer.number(index)
        writer.text(block)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        library = try fields.number32()
        index = try fields.number32()
        block = try fields.text()
        try fields.end(frame.kind)
    }
}

/// `command`: instance, the words.
package struct CommandMessage {
    private static let wordLimit = 1024

    package let instance: UInt32
    /// They point into the frame.
    package let words: [carillon_str]

    package static func write(
        instance: UInt32,
        _ words: UnsafePointer<carillon_str>?,
        count: Int,
        to writer: inout FrameWriter
    ) {
        writer.number(instance)
        writer.texts(words, count: count)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        words = try fields.texts(limit: Self.wordLimit)
        try fields.end(frame.kind)
    }
}

/// `present`: instance, the connections' word, certificates, key. The frame's id is the child's number of the question,
/// which `reply` carries.
package struct PresentMessage {
    package let instance: UInt32
    /// They point into the frame.
    package let connection: carillon_str
    package let certificates: carillon_str
    package let key: carillon_str

    package static func write(
        instance: UInt32,
        connection: carillon_str,
        certificates: carillon_str,
        key: carillon_str,
        to writer: inout FrameWriter
    ) {
        writer.number(instance)
        writer.text(connection)
        writer.text(certificates)
        writer.text(key)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        connection = try fields.text()
        certificates = try fields.text()
        key = try fields.text()
        try fields.end(frame.kind)
    }
}
