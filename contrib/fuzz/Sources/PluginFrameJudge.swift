import CarillonABI

@testable import PluginProtocol

/// Messages between router and plugin process, in both directions.
enum PluginFrameJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        Pieces.judge(bytes) { choice, pieces in frames(sides[Int(choice & 3)], pieces) }
    }

    private static let sides = [FrameKind.questions, FrameKind.deliveries, FrameKind.answers, FrameKind.results]

    private static func frames(_ kinds: Set<FrameKind>, _ pieces: [[UInt8]]) -> [String] {
        var buffer = FrameBuffer(taking: kinds)
        var texts: [String] = []
        do throws(ProtocolError) {
            for piece in pieces {
                piece.withUnsafeBytes { buffer.append($0) }
                try buffer.drain { frame throws(ProtocolError) in
                    do throws(ProtocolError) {
                        texts.append("\(frame.kind) \(frame.id) \(try sum(of: frame))")
                    } catch {
                        texts.append("\(frame.kind) \(error)")
                        throw error
                    }
                }
            }
        } catch {
            texts.append("\(error)")
        }
        return texts
    }

    /// Reads a frame as its receiver does, with all bytes that it points to.
    private static func sum(of frame: Frame) throws(ProtocolError) -> Int {
        switch frame.kind {
        case .load: return try LoadMessage(reading: frame).path.utf8.count
        case .create: return try CreateMessage(reading: frame).configuration.utf8.count
        case .destroy, .cancel: return Int(try InstanceMessage(reading: frame).instance)
        case .validate: return try ValidateMessage.read(frame) { _, registration in sum(registration.pointee) }
        case .check: return sum(try CheckMessage(reading: frame).block)
        case .decide:
            let message = try DecideMessage(reading: frame)
            return message.withCStruct(edit: nil, set: takeNoEdit) { call in
                sum(call.pointee.event) &+ sum(call.pointee.author) &+ sum(call.pointee.notification)
            }
        case .command: return try CommandMessage(reading: frame).words.reduce(0) { $0 &+ sum($1) }
        case .ping:
            try PingMessage.read(frame)
            return 0
        case .reply, .answered: return sum(try AnswerMessage(reading: frame).text)
        case .deliver:
            return try DeliverMessage.read(frame) { _, registration, notification in
                sum(registration.pointee) &+ sum(notification)
            }
        case .deliverMany:
            return try DeliverManyMessage(reading: frame).withCStruct { deliveries in
                deliveries.reduce(0) { $0 &+ ($1.registration.map { sum($0.pointee) } ?? 0) &+ sum($1.notification) }
            }
        case .response:
            var result = 0
            try ResponseMessage(reading: frame).withCStruct {
                result = sum($0.pointee.headers, $0.pointee.header_count)
            }
            return result
        case .streamOpened:
            try StreamOpenedMessage.read(frame)
            return 0
        case .streamReceived, .streamWrite, .streamClosed:
            return sum(try StreamBytesMessage(reading: frame).bytes)
        case .streamDrained, .streamTaken, .streamStartTLS:
            return Int(truncatingIfNeeded: try StreamCountMessage(reading: frame).total)
        case .streamClose: return Int(try StreamCloseMessage(reading: frame).meaning.rawValue)
        case .stored: return try StoredMessage(reading: frame).entries.count
        case .receive: return try ReceiveMessage(reading: frame).withCStruct { sum($0.pointee.body) }
        case .hello: return Int(try HelloMessage(reading: frame).deliveries)
        case .loaded: return try DescriptorMessage(reading: frame).transports.count
        case .unloadable: return try UnloadableMessage(reading: frame).text.utf8.count
        case .decided: return try DecidedMessage(reading: frame).edits.reduce(0) { $0 &+ sum($1.name) &+ sum($1.value) }
        case .pong: return Int(truncatingIfNeeded: try PongMessage(reading: frame).deliveries.id)
        case .present:
            let message = try PresentMessage(reading: frame)
            return sum(message.connection) &+ sum(message.certificates) &+ sum(message.key)
        case .refused: return Int(try RefusedMessage(reading: frame).instance)
        case .completed: return Int(try OutcomeMessage(reading: frame).instance)
        case .request:
            return try RequestMessage(reading: frame).withCStruct {
                sum($0.pointee.url) &+ sum($0.pointee.body) &+ sum($0.pointee.headers, $0.pointee.header_count)
            }
        case .log: return sum(try LogMessage(reading: frame).text)
        case .mistake: return try ViolationMessage(reading: frame).text.utf8.count
        case .streamOpen: return try StreamOpenMessage(reading: frame).withCStruct { sum($0.pointee.host) }
        case .store: return Int(try StoreMessage(reading: frame).instance)
        case .received: return Int(try ReceivedMessage(reading: frame).instance)
        }
    }

    // MARK: Each byte of it

    private static func sum(_ text: carillon_str) -> Int {
        UnsafeRawBufferPointer(start: text.ptr, count: text.len).reduce(0) { $0 &+ Int($1) }
    }

    private static func sum(_ fields: UnsafePointer<carillon_field>?, _ count: Int) -> Int {
        UnsafeBufferPointer(start: fields, count: count).reduce(0) { $0 &+ sum($1.name) &+ sum($1.value) }
    }

    private static func sum(_ registration: carillon_registration) -> Int {
        sum(registration.token) &+ sum(registration.fields, registration.field_count)
    }

    private static func sum(_ notification: UnsafePointer<carillon_notification>?) -> Int {
        guard let notification = notification?.pointee else { return 0 }
        let actions = UnsafeBufferPointer(start: notification.actions, count: notification.action_count)
        return actions.compactMap(\.self).reduce(sum(notification.title) &+ sum(notification.native)) {
            $0 &+ sum($1.pointee.id) &+ sum($1.pointee.label) &+ sum($1.pointee.url) &+ sum($1.pointee.icon)
        }
    }
}

private func takeNoEdit(_: OpaquePointer?, _: carillon_str, _: carillon_bytes) -> carillon_status { .CARILLON_OK }
