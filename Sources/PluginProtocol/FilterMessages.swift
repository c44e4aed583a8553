import CarillonABI

/// `decide`: instance, and the question but for `edit` and `set`, which the child has its own of.
package struct DecideMessage {
    private static let eventLimit = 64

    package let instance: UInt32
    private var call = carillon_filter_call()
    private let events: [carillon_str]
    private let notification: NotificationMessage?

    package static func write(instance: UInt32, _ call: carillon_filter_call, to writer: inout FrameWriter) {
        writer.number(instance)
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

    /// How the notification that goes with the question is shown; nil: there is none.
    package var renderedMode: carillon_mode? { notification?.mode }

    /// Lends the struct for the time of `body`, with `edit` and `set` as given.
    package func lend<Result>(
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
            return notification.lend { notification in
                call.notification = notification
                return withUnsafePointer(to: call, body)
            }
        }
    }
}

/// `decided`: status, verdict, what the filter set, in order. The frame's id is the question's.
package struct DecidedMessage {
    /// The most edits of a call.
    package static let editLimit = 256

    package let status: carillon_status
    package let verdict: carillon_verdict
    /// Fields and values; they point into the frame.
    package let edits: [carillon_field]

    /// A verdict that means nothing, as it stands in a plugin's memory, is a failure: `verdict` comes as a number.
    package static func write(
        _ status: carillon_status,
        verdict: Int32,
        edits: [(field: [UInt8], value: [UInt8])],
        to writer: inout FrameWriter
    ) {
        writer.status(status)
        writer.number(UInt32(bitPattern: verdict))
        writer.number(UInt32(clamping: edits.count))
        for edit in edits {
            writer.text(edit.field)
            writer.text(edit.value)
        }
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        status = try fields.status()
        guard let verdict = carillon_verdict(rawValue: Int32(bitPattern: try fields.number32())) else {
            throw .unknownValue
        }
        self.verdict = verdict
        edits = try fields.pairs(limit: Self.editLimit).all
        try fields.end(frame.kind)
    }
}
