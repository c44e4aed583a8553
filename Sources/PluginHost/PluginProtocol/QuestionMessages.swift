import CarillonABI
import Core

/// `load`: the library and its process's limits. The first question, sent once for each library.
package struct LoadMessage: Equatable {
    private static let libraryLimit = 64

    /// Absolute path of the library.
    package var path: String
    /// Absolute paths of all libraries that this process will load, the same in each question. A process that drops its
    /// rights keeps read access to these files and cannot gain access to others.
    package var libraries: [String]
    /// The maximum of data memory in bytes (`RLIMIT_DATA`); 0: no limit.
    package var memoryLimit: UInt64
    /// Whether the process drops its rights before it loads the library.
    package var isSandboxed: Bool
    /// Whether this is the last library. After it, the process enters the second stage of the sandbox.
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

/// `create`: the library's index among those loaded, the transport's or filter's index in the descriptor, the new
/// instance's number, its configuration, its public URL for requests from clients, its stored values.
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
    /// Empty: the instance receives no requests.
    package var inboundURL = ""
    package var state: [StateEntry] = []

    package init(
        instance: UInt32,
        library: UInt32,
        table: Table,
        index: UInt32,
        configuration: String
    ) {
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

/// `answered` and `reply`: a status, a number (a filter's needs, after `create`), and a string (an error message, or a
/// command's output).
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

    package static func write(_ status: carillon_status, _ text: String, to writer: inout FrameWriter) {
        writer.status(status)
        writer.number(UInt32(0))
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

    /// Calls `body` with the frame's contents.
    package static func read<Result>(
        _ frame: Frame,
        _ body: (UInt32, UnsafePointer<carillon_registration>) -> Result
    ) throws(ProtocolError) -> Result {
        var fields = frame.fields
        let instance = try fields.number32()
        let registration = try RegistrationMessage(reading: &fields)
        try fields.end(frame.kind)
        return registration.withCStruct { body(instance, $0) }
    }
}

/// `check`: indexes of library and transport, a rule's block as JSON.
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

    package static func write(library: UInt32, index: UInt32, _ block: String, to writer: inout FrameWriter) {
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

/// `command`: instance, arguments.
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

/// `present`: instance, the name of the connections, certificates, key. The frame's id is the child's number of the
/// question, which `reply` carries.
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

/// `decide`: instance and question, without `edit` and `set`: the child supplies these.
package struct DecideMessage {
    private static let eventLimit = 64

    package let instance: UInt32
    private var call = carillon_filter_call()
    private let events: [carillon_str]
    private let notification: NotificationMessage?

    package static func write(instance: UInt32, _ call: carillon_filter_call, to writer: inout FrameWriter) {
        writer.number(instance)
        write(call, to: &writer)
    }

    /// Writes the question without an instance.
    package static func write(_ call: carillon_filter_call, to writer: inout FrameWriter) {
        writer.number(call.zap_millisats)
        writer.number(call.now_unix_ms)
        writer.number(UInt32(bitPattern: call.follow_distance.rawValue))
        writer.text(call.event)
        writer.text(call.recipient)
        writer.text(call.signal)
        writer.text(call.author)
        writer.text(call.relation)
        writer.texts(call.recipient_events, count: call.recipient_event_count)
        writer.number(call.notification == nil ? UInt32(0) : 1)
        if let notification = call.notification?.pointee { NotificationMessage.write(notification, to: &writer) }
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        call.struct_size = UInt32(MemoryLayout<carillon_filter_call>.size)
        call.zap_millisats = try fields.number64()
        call.now_unix_ms = try fields.number64()
        guard let distance = carillon_follow_distance(rawValue: Int32(bitPattern: try fields.number32())) else {
            throw .unknownValue
        }
        call.follow_distance = distance
        call.event = try fields.text()
        call.recipient = try fields.text()
        call.signal = try fields.text()
        call.author = try fields.text()
        call.relation = try fields.text()
        events = try fields.texts(limit: Self.eventLimit)
        notification = try fields.number32() == 0 ? nil : try NotificationMessage(reading: &fields)
        try fields.end(frame.kind)
    }

    /// The mode of the question's notification; nil: it has none.
    package var renderedMode: carillon_mode? { notification?.mode }

    /// Calls `body` with the struct, valid until `body` returns, with `edit` and `set` as given.
    package func withCStruct<Result>(
        edit: OpaquePointer?,
        set: @escaping @convention(c) (OpaquePointer?, carillon_str, carillon_bytes) -> carillon_status,
        _ body: (UnsafePointer<carillon_filter_call>) -> Result
    ) -> Result {
        events.withUnsafeBufferPointer { events in
            var call = call
            call.edit = edit
            call.set = set
            call.recipient_events = events.isEmpty ? nil : events.baseAddress
            call.recipient_event_count = events.count
            guard let notification else { return withUnsafePointer(to: call, body) }
            return notification.withCStruct { notification in
                call.notification = notification
                return withUnsafePointer(to: call, body)
            }
        }
    }
}

/// `decided`: status, verdict, the filter's edits in order. The frame's id is the question's.
package struct DecidedMessage {
    /// The maximum number of edits in a call.
    package static let editLimit = 256

    package let status: carillon_status
    package let decision: carillon_verdict
    /// Fields and values; they point into the frame.
    package let edits: [carillon_field]

    /// Writes an answer. `decision` is the number from the plugin's memory; reading an unknown number fails.
    package static func write(
        _ status: carillon_status,
        decision: Int32,
        edits: [(field: [UInt8], value: [UInt8])],
        to writer: inout FrameWriter
    ) {
        writer.status(status)
        writer.number(UInt32(bitPattern: decision))
        writer.number(UInt32(clamping: edits.count))
        for edit in edits {
            writer.text(edit.field)
            writer.text(edit.value)
        }
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        status = try fields.status()
        guard let decision = carillon_verdict(rawValue: Int32(bitPattern: try fields.number32())) else {
            throw .unknownValue
        }
        self.decision = decision
        edits = try fields.pairs(limit: Self.editLimit).all
        try fields.end(frame.kind)
    }
}

/// Checks the values that a filter sets within one call. The process checks so that the filter gets the error
/// immediately; the router checks again because it trusts no process.
package struct FilterForm: Sendable {
    /// The fields of a rendered notification that a filter may change.
    private enum EditPermission: Sendable {
        case none
        case urgency
        case texts
    }

    package enum Field: Sendable, Equatable {
        case reason
        case urgency
        /// The index in ``texts``.
        case text(Int)
    }

    package enum Result {
        case taken(Field, UnsafeBufferPointer<UInt8>)
        case refused(carillon_status)
    }

    package static let reasonLimit = 60
    private static let nameLimit = 64
    private static let textLimit = 65_536
    private static let texts: [StaticString] = [
        "title", "subtitle", "body", "category", "thread", "collapse_key", "url", "data",
    ]

    private let freedom: EditPermission

    /// `mode` is the mode of the question's notification; nil: it has none.
    package init(_ mode: carillon_mode?) {
        switch mode {
        case nil: freedom = .none
        case .CARILLON_SEALED, .CARILLON_ALERT: freedom = .texts
        default: freedom = .urgency
        }
    }

    package func check(_ field: carillon_str, _ value: carillon_bytes) -> Result {
        guard let name = RequestForm.bytes(field, limit: Self.nameLimit) else { return .refused(.CARILLON_INVALID) }
        func isCalled(_ word: StaticString) -> Bool { word.withUTF8Buffer { name.elementsEqual($0) } }
        if isCalled("reason") {
            return take(.reason, value, limit: Self.reasonLimit) { $0.allSatisfy { (0x20...0x7e).contains($0) } }
        }
        if isCalled("urgency"), freedom != .none {
            return take(.urgency, value, limit: 16) { value in
                ["low", "normal", "high"].contains { value.elementsEqual($0.utf8) }
            }
        }
        guard freedom == .texts, let index = Self.texts.firstIndex(where: isCalled) else {
            return .refused(.CARILLON_UNSUPPORTED)
        }
        let isData = index == Self.texts.count - 1
        return take(.text(index), value, limit: Self.textLimit) { value in
            String(validating: value, as: UTF8.self) != nil && (!isData || Self.looksLikeObject(value))
        }
    }

    private func take(
        _ field: Field,
        _ value: carillon_bytes,
        limit: Int,
        _ isFit: (UnsafeBufferPointer<UInt8>) -> Bool
    ) -> Result {
        guard let bytes = RequestForm.bytes(value, limit: limit), isFit(bytes) else {
            return .refused(.CARILLON_INVALID)
        }
        return .taken(field, bytes)
    }

    /// Whether `text` is empty or in braces. The router parses it later and ignores invalid JSON.
    private static func looksLikeObject(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        let spaces: [UInt8] = [0x20, 0x09, 0x0a, 0x0d]
        let first = text.first { !spaces.contains($0) }
        let last = text.last { !spaces.contains($0) }
        return text.isEmpty || first == UInt8(ascii: "{") && last == UInt8(ascii: "}")
    }
}
