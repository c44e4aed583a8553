import CarillonABI
import Core
import PluginProtocol

/// The unanswered HTTP requests of a process, and those that outlive their process. Pure.
struct ProcessRequests: Sendable {
    /// The result of adding a request.
    enum Begin: Sendable {
        case taken
        /// Its number is in use.
        case inUse
        /// More are open than deliveries can need. The process must still get its end.
        case tooMany
    }

    /// A request of a dead process.
    private struct Orphan: Hashable {
        let session: ObjectIdentifier
        let number: UInt64
    }

    private static let perDelivery = 4
    private static let headroom = 64

    /// The deliveries of open requests, by the numbers that the process chose.
    private var open: [UInt64: UInt64] = [:]
    /// Requests of dead processes, with all deliveries that each carries.
    private var orphans: [Orphan: [UInt64]] = [:]

    /// Adds a request of the running process for the delivery `ticket`; 0: unknown.
    mutating func begin(_ number: UInt64, for ticket: UInt64, inHand: Int) -> Begin {
        guard open[number] == nil else { return .inUse }
        open[number] = ticket
        return open.count <= Self.perDelivery * inHand + Self.headroom ? .taken : .tooMany
    }

    /// Ends a request of the running process.
    mutating func end(_ number: UInt64) { open[number] = nil }

    /// Notes that another process runs.
    mutating func restart() { open = [:] }

    /// Notes that the process has died. A suspect delivery is not retried before its requests have ended.
    mutating func died(_ session: ObjectIdentifier, _ deliveryTable: inout DeliveryTable) {
        for (number, ticket) in open {
            orphans[Orphan(session: session, number: number)] = deliveryTable.beginRequest(for: ticket)
        }
        restart()
    }

    /// Ends a request of another process. Returns the deliveries that it carried.
    mutating func end(_ number: UInt64, of session: ObjectIdentifier) -> [UInt64] {
        guard !orphans.isEmpty else { return [] }
        return orphans.removeValue(forKey: Orphan(session: session, number: number)) ?? []
    }
}

/// Passes the HTTP requests of a process to the hosts of its instances, and the responses back.
extension InstanceTable {
    /// A request and its process.
    private struct OpenRequest: Sendable {
        let session: ChildSession
        let id: UInt64
    }

    /// Handles `request`.
    func receiveRequest(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        let message = try RequestMessage(reading: frame)
        let (isNew, host) = withLock { state -> (Bool, (any InstanceHost)?) in
            switch state.requests.begin(frame.id, for: message.ticket, inHand: state.deliveryTable.count) {
            case .inUse: (false, nil)
            case .tooMany: (true, nil)
            case .taken: (true, state.instanceSet.host(of: message.instance))
            }
        }
        guard isNew else { throw .unexpected(.request) }
        let request = OpenRequest(session: session, id: frame.id)
        guard let host else { return end(request) { ResponseMessage.write(failure: "overloaded", to: &$0) } }
        let status = host.send(message) { [self] write in end(request, write) }
        guard status != .CARILLON_OK else { return }
        let failure: StaticString = status == .CARILLON_BUSY ? "shutdown" : "refused"
        end(request) { ResponseMessage.write(failure: failure, to: &$0) }
    }

    private func end(_ request: OpenRequest, _ write: InstanceHost.WriteResponse) {
        let (session, frames, carried, parts) = withLock { state in
            var carried: [UInt64] = []
            if state.session === request.session {
                state.requests.end(request.id)
            } else {
                carried = state.requests.end(request.id, of: ObjectIdentifier(request.session))
                state.deliveryTable.endRequest(for: carried)
            }
            return (state.session, state.takeNext(), carried, state.parts)
        }
        for part in parts { part.endRequest(for: carried) }
        if !request.session.send(.response, id: request.id, write) {
            _ = request.session.send(.response, id: request.id) {
                ResponseMessage.write(failure: "too-large", to: &$0)
            }
        }
        Self.send(frames, to: session)
    }
}

/// The answer to an inbound request.
package enum PluginInboundReply {
    /// The plugin's answer, which points into a frame.
    case received(ReceivedMessage)
    /// The router's answer, because the process ended or gave none.
    case failed
}

/// The inbound requests that a process has not answered. Pure: its owner sends the frames.
struct InboundTable: Sendable {
    /// The recipient of the answer to one request.
    struct Waiter: Sendable {
        let instance: UInt32
        let done: @Sendable (PluginInboundReply) -> Void
    }

    /// The effect of an answer.
    enum Completion: Sendable {
        case ended(Waiter)
        /// The caller has stopped waiting.
        case late
        /// Its number was never issued.
        case unknown
    }

    /// A plugin that never answers must not fill the memory: the host stopped waiting for the oldest long ago.
    private static let limit = 1024

    private var waiters: [UInt64: Waiter] = [:]
    private var last: UInt64 = 0
    private var oldest: UInt64 = 1

    var isEmpty: Bool { waiters.isEmpty }

    /// The number of a new request.
    mutating func open(_ waiter: Waiter) -> UInt64 {
        last += 1
        waiters[last] = waiter
        while waiters.count > Self.limit {
            waiters[oldest] = nil
            oldest += 1
        }
        return last
    }

    mutating func end(_ number: UInt64) -> Completion {
        guard let waiter = waiters.removeValue(forKey: number) else {
            return number > 0 && number <= last ? .late : .unknown
        }
        return .ended(waiter)
    }

    /// Returns the remaining waiters after the process has ended.
    mutating func removeAll() -> [Waiter] {
        defer { waiters = [:] }
        return waiters.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// Passes inbound requests to a process, and its answers to the waiters.
extension InstanceTable {
    /// Passes a request, which `body` writes, to an instance. BUSY if its process does not run, or tries a single
    /// suspect.
    func hand(
        _ instance: UInt32,
        _ body: (inout FrameWriter) -> Void,
        _ done: @escaping @Sendable (PluginInboundReply) -> Void
    ) -> carillon_status {
        let waiter = InboundTable.Waiter(instance: instance, done: done)
        let opened = withLock { state -> (number: UInt64, session: ChildSession)? in
            guard let session = state.session, state.deliveryTable.mayReceive, state.instanceSet.isPresent(instance)
            else {
                return nil
            }
            return (state.inbound.open(waiter), session)
        }
        guard let (number, session) = opened else { return .CARILLON_BUSY }
        var writer = FrameWriter()
        let fits = writer.frame(.receive, id: number) { writer in
            writer.number(instance)
            body(&writer)
        }
        // If the process has just died, the request is answered when its end is noted.
        if fits, session.send(writer.take(), mayRefuse: true) != .full { return .CARILLON_OK }
        guard case .ended = withLock({ $0.inbound.end(number) }) else { return .CARILLON_OK }
        return fits ? .CARILLON_BUSY : .CARILLON_INVALID
    }

    /// Handles `received`.
    func receiveInbound(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        let message = try ReceivedMessage(reading: frame)
        switch withLock({ $0.session === session ? $0.inbound.end(frame.id) : .late }) {
        case .ended(let waiter) where waiter.instance == message.instance:
            waiter.done(.received(message))
        case .ended(let waiter):
            waiter.done(.failed)
            throw .unknownValue
        case .late: break
        case .unknown: throw .unexpected(.received)
        }
    }
}
