import CarillonABI
import PluginProtocol
import Synchronization

/// Reads deliveries and responses to requests, and calls the plugins for them and for timers: the main thread.
struct DeliveryReader {
    private static let room = 256 << 10

    private let process: PluginProcess

    init(_ process: PluginProcess) { self.process = process }

    func run(_ descriptor: Int32) -> Never {
        // This thread drops its rights before it reads a delivery.
        process.confinement.enter()
        process.deliveries.collect()
        var socket = ReceivingSocket(descriptor, taking: FrameKind.deliveries, room: Self.room)
        while true {
            if process.timers.wait(for: descriptor) { receive(&socket) }
            process.timers.fireDue(process.deliveryActivity)
            process.deliveries.flush()
        }
    }

    private func receive(_ socket: inout ReceivingSocket) {
        socket.receive { frame throws(ProtocolError) in
            switch frame.kind {
            case .deliver: try deliver(frame)
            case .cancel: try cancel(frame)
            case .response: try end(frame)
            case .stored: try keep(frame)
            case .deliverMany: try deliverMany(frame)
            case .receive: try receive(frame)
            case .streamOpened, .streamReceived, .streamDrained, .streamClosed:
                try process.streams.receive(frame, process)
            default: throw .unexpected(frame.kind)
            }
        }
    }

    private func deliver(_ frame: Frame) throws(ProtocolError) {
        let ticket = frame.id
        let (number, status) = try DeliverMessage.read(frame) { number, registration, notification in
            process.openWork.withLock { $0.begin(ticket, of: number) }
            return (number, hand(ticket, to: number, registration, notification))
        }
        if status != .CARILLON_OK { refuse(ticket, of: number, status) }
    }

    /// Passes a delivery in `openWork` to an instance.
    private func hand(
        _ ticket: UInt64,
        to number: UInt32,
        _ registration: UnsafePointer<carillon_registration>?,
        _ notification: UnsafePointer<carillon_notification>?
    ) -> carillon_status {
        guard let instance = process.instance(number), case .transport(let table) = instance.table,
            let deliver = table.deliver
        else { return .CARILLON_FAILED }
        let status = instance.enter {
            process.deliveryActivity.during(.deliver, ticket) {
                deliver(instance.pointer, ticket, registration, notification)
            }
        }
        return status ?? .CARILLON_BUSY
    }

    private func refuse(_ ticket: UInt64, of number: UInt32, _ status: carillon_status) {
        _ = process.openWork.withLock { $0.end(ticket, of: number) }
        process.deliveries.send(.refused, id: ticket) { RefusedMessage.write(instance: number, status, to: &$0) }
    }

    private func deliverMany(_ frame: Frame) throws(ProtocolError) {
        let message = try DeliverManyMessage(reading: frame)
        let number = message.instance
        message.withCStruct { deliveries in
            process.openWork.withLock { openWork in
                for delivery in deliveries { openWork.begin(delivery.ticket, of: number) }
            }
            let status = hand(deliveries, to: number, activity: frame.id)
            guard status != .CARILLON_OK else { return }
            // A delivery that the plugin ended anyway, against the rules, counts as ended.
            for delivery in deliveries where process.openWork.withLock({ $0.isOpen(delivery.ticket) }) {
                var status = status
                if status == .CARILLON_UNSUPPORTED {
                    status = hand(delivery.ticket, to: number, delivery.registration, delivery.notification)
                }
                if status != .CARILLON_OK { refuse(delivery.ticket, of: number, status) }
            }
        }
    }

    private func hand(
        _ deliveries: UnsafeBufferPointer<carillon_delivery>,
        to number: UInt32,
        activity: UInt64
    ) -> carillon_status {
        guard let instance = process.instance(number), case .transport(let table) = instance.table else {
            return .CARILLON_FAILED
        }
        guard let deliverMany = table.deliver_many else { return .CARILLON_UNSUPPORTED }
        let status = instance.enter {
            process.deliveryActivity.during(.deliverMany, activity) {
                deliveries.indices.map { index in deliveries.baseAddress.map { $0 + index } }
                    .withUnsafeBufferPointer { deliverMany(instance.pointer, $0.baseAddress, $0.count) }
            }
        }
        return status ?? .CARILLON_BUSY
    }

    private func receive(_ frame: Frame) throws(ProtocolError) {
        let message = try ReceiveMessage(reading: frame)
        guard let instance = process.instance(message.instance), case .transport(let table) = instance.table,
            let receive = table.receive, let context = OpenCalls.inbound.open(frame.id, of: instance)
        else { return refuse(request: frame.id, of: message.instance, .CARILLON_UNSUPPORTED) }
        let status = instance.enter {
            process.deliveryActivity.during(.receive, frame.id) {
                message.withCStruct { receive(instance.pointer, $0, inboundDone, context) }
            }
        }
        guard status != .CARILLON_OK, OpenCalls.inbound.close(context) != nil else { return }
        refuse(request: frame.id, of: message.instance, status ?? .CARILLON_BUSY)
    }

    private func refuse(request: UInt64, of number: UInt32, _ status: carillon_status) {
        process.deliveries.send(.received, id: request) {
            ReceivedMessage.write(instance: number, refusal: status, to: &$0)
        }
    }

    /// The delivery may have ended, and its instance with it.
    private func cancel(_ frame: Frame) throws(ProtocolError) {
        let message = try InstanceMessage(reading: frame)
        guard process.openWork.withLock({ $0.isOpen(frame.id) }), let instance = process.instance(message.instance),
            case .transport(let table) = instance.table, let cancel = table.cancel
        else { return }
        instance.enter {
            process.deliveryActivity.during(.cancel, frame.id) { cancel(instance.pointer, frame.id) }
        }
    }

    /// Another instance has set a value. This one may have ended.
    private func keep(_ frame: Frame) throws(ProtocolError) {
        let message = try StoredMessage(reading: frame)
        process.instance(message.instance)?.receive(message, handled: frame.id)
    }

    private func end(_ frame: Frame) throws(ProtocolError) {
        let response = try ResponseMessage(reading: frame)
        guard let request = process.openWork.withLock({ $0.close(frame.id) }) else { throw .unexpected(.response) }
        request.instance.enter {
            process.deliveryActivity.during(.response, request.ticket) {
                response.withCStruct { request.done(request.context, $0) }
            }
        }
    }
}
