import CarillonABI
import PluginProtocol
import Synchronization

/// Reads deliveries and answers to requests, and calls the plugins for them: the main thread.
struct DeliveryReader {
    private static let room = 256 << 10

    private let process: PluginProcess

    init(_ process: PluginProcess) { self.process = process }

    func run(_ descriptor: Int32) -> Never {
        // No delivery is read before this thread has given up its rights.
        process.confinement.enter()
        process.deliveries.collect()
        var socket = ReceivingSocket(descriptor, taking: FrameKind.deliveries, room: Self.room)
        while true {
            socket.receive { frame throws(ProtocolError) in
                switch frame.kind {
                case .deliver: try deliver(frame)
                case .cancel: try cancel(frame)
                case .response: try end(frame)
                default: throw .unexpected(frame.kind)
                }
            }
            process.deliveries.flush()
        }
    }

    private func deliver(_ frame: Frame) throws(ProtocolError) {
        let ticket = frame.id
        let (number, status) = try DeliverMessage.read(frame) { number, registration, notification in
            guard let instance = process.instance(number), case .transport(let table) = instance.table,
                let deliver = table.deliver
            else { return (number, carillon_status.CARILLON_FAILED) }
            process.ledger.withLock { $0.begin(ticket, of: number) }
            let status = instance.enter {
                process.deliveryActivity.during(.deliver, ticket) {
                    deliver(instance.pointer, ticket, registration, notification)
                }
            }
            return (number, status ?? .CARILLON_BUSY)
        }
        guard status != .CARILLON_OK else { return }
        _ = process.ledger.withLock { $0.end(ticket, of: number) }
        process.deliveries.send(.refused, id: ticket) { RefusedMessage.write(instance: number, status, to: &$0) }
    }

    /// The delivery may have ended, and its instance with it.
    private func cancel(_ frame: Frame) throws(ProtocolError) {
        let message = try InstanceMessage(reading: frame)
        guard process.ledger.withLock({ $0.isOpen(frame.id) }), let instance = process.instance(message.instance),
            case .transport(let table) = instance.table, let cancel = table.cancel
        else { return }
        instance.enter {
            process.deliveryActivity.during(.cancel, frame.id) { cancel(instance.pointer, frame.id) }
        }
    }

    private func end(_ frame: Frame) throws(ProtocolError) {
        let response = try ResponseMessage(reading: frame)
        guard let request = process.ledger.withLock({ $0.close(frame.id) }) else { throw .unexpected(.response) }
        request.instance.enter {
            process.deliveryActivity.during(.response, request.ticket) {
                response.lend { request.done(request.context, $0) }
            }
        }
    }
}
