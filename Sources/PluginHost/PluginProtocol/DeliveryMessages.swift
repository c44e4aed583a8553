import CarillonABI

// Bodies of the frames about deliveries, as structs of the ABI on both sides. Reading copies only arrays; everything
// else points into the frame.

/// `deliver`: instance, registration, notification. The frame's id is the ticket.
package enum DeliverMessage {
    package static func write(
        instance: UInt32,
        _ registration: carillon_registration,
        _ notification: carillon_notification,
        to writer: inout FrameWriter
    ) {
        writer.number(instance)
        RegistrationMessage.write(registration, to: &writer)
        NotificationMessage.write(notification, to: &writer)
    }

    /// Calls `body` with the frame's contents.
    package static func read<Result>(
        _ frame: Frame,
        _ body: (UInt32, UnsafePointer<carillon_registration>, UnsafePointer<carillon_notification>) -> Result
    ) throws(ProtocolError) -> Result {
        var fields = frame.fields
        let instance = try fields.number32()
        let registration = try RegistrationMessage(reading: &fields)
        let notification = try NotificationMessage(reading: &fields)
        try fields.end(frame.kind)
        return registration.withCStruct { registration in
            notification.withCStruct { body(instance, registration, $0) }
        }
    }
}

/// A registration: token, registration time, fields.
package struct RegistrationMessage {
    private static let fieldLimit = 256

    private var registration = carillon_registration()
    let fields: FieldPairs

    package static func write(_ registration: carillon_registration, to writer: inout FrameWriter) {
        writer.text(registration.token)
        writer.number(registration.registered_unix_ms)
        writer.pairs(registration.fields, count: registration.field_count)
    }

    package init(reading reader: inout FieldReader) throws(ProtocolError) {
        registration.struct_size = UInt32(MemoryLayout<carillon_registration>.size)
        registration.token = try reader.text()
        registration.registered_unix_ms = try reader.number64()
        fields = try reader.pairs(limit: Self.fieldLimit)
    }

    /// Calls `body` with the struct, which is valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafePointer<carillon_registration>) -> Result) -> Result {
        fields.withCStruct { start, _ in withUnsafePointer(to: cStruct(start), body) }
    }

    /// The struct with its fields at `start`.
    func cStruct(_ start: UnsafePointer<carillon_field>?) -> carillon_registration {
        var registration = registration
        registration.fields = start
        registration.field_count = fields.count
        return registration
    }
}

/// A notification: mode, urgency, count, expiry, its strings in the header's order, its actions.
package struct NotificationMessage {
    private static let actionLimit = 64

    private var notification = carillon_notification()
    private(set) var actions: [carillon_action] = []

    package var mode: carillon_mode { notification.mode }

    package static func write(_ notification: carillon_notification, to writer: inout FrameWriter) {
        writer.number(UInt32(bitPattern: notification.mode.rawValue))
        writer.number(UInt32(bitPattern: notification.urgency.rawValue))
        writer.number(notification.count)
        writer.number(notification.expires_unix_ms)
        writer.text(notification.id)
        writer.text(notification.signal)
        writer.text(notification.title)
        writer.text(notification.subtitle)
        writer.text(notification.body)
        writer.text(notification.category)
        writer.text(notification.thread)
        writer.text(notification.collapse_key)
        writer.text(notification.url)
        writer.text(notification.data)
        writer.text(notification.native)
        writer.text(notification.sealed)
        let actions = UnsafeBufferPointer(start: notification.actions, count: notification.action_count)
        let all = actions.compactMap { $0?.pointee }
        writer.number(UInt32(clamping: all.count))
        for action in all {
            writer.text(action.id)
            writer.text(action.label)
            writer.text(action.url)
            writer.text(action.icon)
        }
    }

    package init(reading reader: inout FieldReader) throws(ProtocolError) {
        notification.struct_size = UInt32(MemoryLayout<carillon_notification>.size)
        guard let mode = carillon_mode(rawValue: Int32(bitPattern: try reader.number32())),
            let urgency = carillon_urgency(rawValue: Int32(bitPattern: try reader.number32()))
        else { throw .unknownValue }
        notification.mode = mode
        notification.urgency = urgency
        notification.count = try reader.number32()
        notification.expires_unix_ms = try reader.number64()
        notification.id = try reader.text()
        notification.signal = try reader.text()
        notification.title = try reader.text()
        notification.subtitle = try reader.text()
        notification.body = try reader.text()
        notification.category = try reader.text()
        notification.thread = try reader.text()
        notification.collapse_key = try reader.text()
        notification.url = try reader.text()
        notification.data = try reader.text()
        notification.native = try reader.text()
        notification.sealed = try reader.text()
        for _ in 0..<(try reader.count(limit: Self.actionLimit)) {
            actions.append(
                carillon_action(
                    struct_size: UInt32(MemoryLayout<carillon_action>.size),
                    reserved: 0,
                    id: try reader.text(),
                    label: try reader.text(),
                    url: try reader.text(),
                    icon: try reader.text()
                )
            )
        }
    }

    /// Calls `body` with the struct, which is valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafePointer<carillon_notification>) -> Result) -> Result {
        guard !actions.isEmpty else { return withUnsafePointer(to: notification, body) }
        return actions.withUnsafeBufferPointer { actions in
            let pointers = actions.indices.map { index in actions.baseAddress.map { $0 + index } }
            return pointers.withUnsafeBufferPointer { withUnsafePointer(to: cStruct($0.baseAddress), body) }
        }
    }

    /// The struct with the pointers to its actions at `start`.
    func cStruct(_ start: UnsafePointer<UnsafePointer<carillon_action>?>?) -> carillon_notification {
        var notification = notification
        notification.actions = start
        notification.action_count = actions.count
        return notification
    }
}

/// `completed`: the outcome of a delivery. The frame's id is the ticket.
package struct OutcomeMessage {
    /// The outcome; its reason points into the frame.
    package private(set) var outcome = carillon_outcome()
    package let instance: UInt32

    package static func write(instance: UInt32, _ outcome: carillon_outcome, to writer: inout FrameWriter) {
        writer.number(instance)
        writer.number(UInt32(bitPattern: outcome.kind.rawValue))
        writer.number(outcome.provider_status)
        writer.number(outcome.retry_after_ms)
        writer.number(UInt32(bitPattern: outcome.scope.rawValue))
        // The receiver reads a reason of more than 40 bytes, or NULL with a length, as "other"; "?" has the same
        // effect. A length of more than half the address space is negative here.
        let isTaken = outcome.reason.len == 0 || (1...40).contains(outcome.reason.len) && outcome.reason.ptr != nil
        if isTaken { writer.text(outcome.reason) } else { writer.text("?") }
    }

    /// Replaces an outcome that cannot be read by one of an invalid kind.
    package static func writeMalformed(instance: UInt32, to writer: inout FrameWriter) {
        var outcome = carillon_outcome()
        outcome.kind = carillon_outcome_kind(rawValue: -1) ?? .CARILLON_RETRY
        write(instance: instance, outcome, to: &writer)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        outcome.struct_size = UInt32(MemoryLayout<carillon_outcome>.size)
        instance = try fields.number32()
        guard let kind = carillon_outcome_kind(rawValue: Int32(bitPattern: try fields.number32())) else {
            throw .unknownValue
        }
        outcome.kind = kind
        outcome.provider_status = try fields.number32()
        outcome.retry_after_ms = try fields.number32()
        guard let scope = carillon_scope(rawValue: Int32(bitPattern: try fields.number32())) else {
            throw .unknownValue
        }
        outcome.scope = scope
        outcome.reason = try fields.text()
        try fields.end(frame.kind)
    }
}

/// `refused`: the plugin rejected the delivery. The frame's id is the ticket.
package struct RefusedMessage {
    package let instance: UInt32
    package let status: carillon_status

    package static func write(instance: UInt32, _ status: carillon_status, to writer: inout FrameWriter) {
        writer.number(instance)
        writer.status(status)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        status = try fields.status()
        try fields.end(frame.kind)
    }
}

/// `log`: a line that the plugin logs. The frame's id is 0.
package struct LogMessage {
    /// The maximum length of a line in bytes. Longer lines are cut.
    package static let textLimit = 4000

    package let instance: UInt32
    package let level: carillon_log_level
    /// Points into the frame.
    package let text: carillon_str

    package static func write(
        instance: UInt32,
        _ level: carillon_log_level,
        _ text: carillon_str,
        to writer: inout FrameWriter
    ) {
        writer.number(instance)
        writer.number(UInt32(bitPattern: level.rawValue))
        writer.text(carillon_str(ptr: text.ptr, len: min(max(0, text.len), textLimit)))
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        guard let level = carillon_log_level(rawValue: Int32(bitPattern: try fields.number32())) else {
            throw .unknownValue
        }
        self.level = level
        text = try fields.text()
        try fields.end(frame.kind)
    }
}

/// `mistake`: the plugin broke a rule, and the child returned an error status to it. The frame's id is 0.
package struct ViolationMessage: Equatable {
    package enum Rule: UInt32, Sendable, CaseIterable {
        /// The plugin asked for a request that cannot be sent.
        case request = 1
        /// The plugin set an invalid value, or set one after its call had returned.
        case edit = 2
        /// The plugin asked for a stream that cannot be opened, or misused one.
        case stream = 3
    }

    private static let textLimit = 256

    package var instance: UInt32
    package var rule: Rule
    /// The problem, without any value.
    package var text: String

    package init(instance: UInt32, _ rule: Rule, text: String) {
        self.instance = instance
        self.rule = rule
        self.text = text
    }

    package func write(to writer: inout FrameWriter) {
        writer.number(instance)
        writer.number(rule.rawValue)
        writer.text(String(decoding: text.utf8.prefix(Self.textLimit), as: UTF8.self))
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        guard let rule = Rule(rawValue: try fields.number32()) else { throw .unknownValue }
        self.rule = rule
        text = try fields.string()
        try fields.end(frame.kind)
    }
}

/// `deliverMany`: a list of deliveries of one instance, each with its ticket and the body of its `deliver`. The frame's
/// id is the first ticket.
package struct DeliverManyMessage {
    /// The maximum number of deliveries of one frame, as in the header.
    package static let countLimit = 1000

    package let instance: UInt32
    private var tickets: [UInt64] = []
    private var registrations: [RegistrationMessage] = []
    private var notifications: [NotificationMessage] = []

    /// Returns how many of the first deliveries fit in a frame, at least 1. `lengths` are those of their `deliver`
    /// frames.
    package static func count(of lengths: [Int]) -> Int {
        var bytes = 4
        let count = lengths.prefix(countLimit).prefix { length in
            bytes += length - Frame.headerSize + 12
            return bytes <= FrameKind.deliverMany.limit
        }.count
        return max(1, count)
    }

    /// Writes deliveries from their complete `deliver` frames.
    package static func write(_ frames: [(ticket: UInt64, frame: [UInt8])], to writer: inout FrameWriter) {
        writer.number(UInt32(clamping: frames.count))
        for (ticket, frame) in frames {
            writer.number(ticket)
            frame.withUnsafeBytes { frame in
                let body = frame.dropFirst(Frame.headerSize)
                writer.text(carillon_bytes(ptr: UnsafeRawBufferPointer(rebasing: body).baseAddress, len: body.count))
            }
        }
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        let count = try fields.count(limit: Self.countLimit)
        guard count >= 2 else { throw .unknownValue }
        var instances: Set<UInt32> = []
        for _ in 0..<count {
            tickets.append(try fields.number64())
            let body = try fields.text()
            var delivery = FieldReader(UnsafeRawBufferPointer(start: body.ptr, count: body.len))
            instances.insert(try delivery.number32())
            registrations.append(try RegistrationMessage(reading: &delivery))
            notifications.append(try NotificationMessage(reading: &delivery))
            try delivery.end(frame.kind)
        }
        try fields.end(frame.kind)
        guard let instance = instances.first, instances.count == 1, Set(tickets).count == count else {
            throw .unknownValue
        }
        self.instance = instance
    }

    /// Calls `body` with the deliveries, which are valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafeBufferPointer<carillon_delivery>) -> Result) -> Result {
        let fields = registrations.flatMap(\.fields.all)
        let actions = notifications.flatMap(\.actions)
        return fields.withUnsafeBufferPointer { fields in
            actions.withUnsafeBufferPointer { actions in
                let pointers = actions.indices.map { index in actions.baseAddress.map { $0 + index } }
                return pointers.withUnsafeBufferPointer { pointers in
                    var (nextField, nextAction) = (0, 0)
                    let registrations = registrations.map { message in
                        defer { nextField += message.fields.count }
                        return message.cStruct(
                            message.fields.count == 0 ? nil : fields.baseAddress.map { $0 + nextField }
                        )
                    }
                    let notifications = notifications.map { message in
                        defer { nextAction += message.actions.count }
                        return message.cStruct(
                            message.actions.isEmpty ? nil : pointers.baseAddress.map { $0 + nextAction }
                        )
                    }
                    return Self.withCStructs(tickets, registrations, notifications, body)
                }
            }
        }
    }

    private static func withCStructs<Result>(
        _ tickets: [UInt64],
        _ registrations: [carillon_registration],
        _ notifications: [carillon_notification],
        _ body: (UnsafeBufferPointer<carillon_delivery>) -> Result
    ) -> Result {
        registrations.withUnsafeBufferPointer { registrations in
            notifications.withUnsafeBufferPointer { notifications in
                let deliveries = tickets.indices.map { index in
                    carillon_delivery(
                        struct_size: UInt32(MemoryLayout<carillon_delivery>.size),
                        reserved: 0,
                        ticket: tickets[index],
                        registration: registrations.baseAddress.map { $0 + index },
                        notification: notifications.baseAddress.map { $0 + index }
                    )
                }
                return deliveries.withUnsafeBufferPointer(body)
            }
        }
    }
}
