import CarillonABI

/// `deliverMany`: a list of deliveries, each with its ticket and the body of its `deliver`. All are of one instance.
/// The frame's id is the first ticket.
package struct DeliverManyMessage {
    /// The most deliveries of one frame, as the header says.
    package static let countLimit = 1000

    package let instance: UInt32
    private var tickets: [UInt64] = []
    private var registrations: [RegistrationMessage] = []
    private var notifications: [NotificationMessage] = []

    /// How many of the first deliveries one frame holds, whose `deliver` frames are of these lengths; at least one.
    package static func count(of lengths: [Int]) -> Int {
        var bytes = 4
        let count = lengths.prefix(countLimit).prefix { length in
            bytes += length - Frame.headerSize + 12
            return bytes <= FrameKind.deliverMany.limit
        }.count
        return max(1, count)
    }

    /// Writes deliveries whose whole `deliver` frames are there.
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

    /// Lends the deliveries for the time of `body`.
    package func lend<Result>(_ body: (UnsafeBufferPointer<carillon_delivery>) -> Result) -> Result {
        let fields = registrations.flatMap(\.fields.all)
        let actions = notifications.flatMap(\.actions)
        return fields.withUnsafeBufferPointer { fields in
            actions.withUnsafeBufferPointer { actions in
                let pointers = actions.indices.map { index in actions.baseAddress.map { $0 + index } }
                return pointers.withUnsafeBufferPointer { pointers in
                    var (nextField, nextAction) = (0, 0)
                    let registrations = registrations.map { message in
                        defer { nextField += message.fields.count }
                        return message.lent(message.fields.count == 0 ? nil : fields.baseAddress.map { $0 + nextField })
                    }
                    let notifications = notifications.map { message in
                        defer { nextAction += message.actions.count }
                        return message.lent(
                            message.actions.isEmpty ? nil : pointers.baseAddress.map { $0 + nextAction }
                        )
                    }
                    return LentDeliveries.lend(tickets, registrations, notifications, body)
                }
            }
        }
    }
}

/// Deliveries as the ABI's `deliver_many` takes them.
package enum LentDeliveries {
    /// Lends one for each ticket for the time of `body`.
    package static func lend<Result>(
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

    /// Calls `deliver_many` with these.
    package static func hand<Result>(
        _ deliveries: UnsafeBufferPointer<carillon_delivery>,
        _ deliverMany: (UnsafePointer<UnsafePointer<carillon_delivery>?>?, Int) -> Result
    ) -> Result {
        let pointers = deliveries.indices.map { index in deliveries.baseAddress.map { $0 + index } }
        return pointers.withUnsafeBufferPointer { deliverMany($0.baseAddress, $0.count) }
    }
}
