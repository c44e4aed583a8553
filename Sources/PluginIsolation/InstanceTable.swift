import CarillonABI
import PluginProtocol
import Synchronization
import Units

/// The instances in a process with their deliveries and HTTP requests, across its restarts.
final class InstanceTable: Sendable {
    /// Told to the host: an instance's plugin broke a rule that its process has answered.
    typealias OnMistake = @Sendable (UnsafePointer<carillon_host>, MistakeMessage.Rule, String) -> Void

    private struct State {
        var orders: [UInt32: InstanceOrder] = [:]
        /// Instances that the process has made.
        var live: Set<UInt32> = []
        /// Of these, those that the present process could not make again.
        var missing: Set<UInt32> = []
        var lastInstance: UInt32 = 0
        var ledger = DeliveryLedger()
        /// The process that works, if there is one.
        var session: ChildSession?
        var isClosed = false
        /// Numbers of requests of that process that are not answered.
        var requests: Set<UInt64> = []
        var setAside = 0
        var lines = LineAllowance()
    }

    private let state = Mutex(State())
    private let lastTicket = Atomic<UInt64>(0)
    private let onMistake: OnMistake
    private let now: @Sendable () -> Deadline

    init(onMistake: @escaping OnMistake, now: @escaping @Sendable () -> Deadline) {
        self.onMistake = onMistake
        self.now = now
    }

    // MARK: Instances

    /// A new instance that the process is about to make.
    func add(
        _ host: UnsafePointer<carillon_host>,
        library: UInt32,
        _ table: CreateMessage.Table,
        index: UInt32,
        configuration: String
    ) -> InstanceOrder {
        let host = HostPointer(pointer: host)
        return state.withLock { state in
            state.lastInstance += 1
            let order = InstanceOrder(
                number: state.lastInstance,
                library: library,
                table: table,
                index: index,
                configuration: configuration,
                host: host
            )
            state.orders[order.number] = order
            return order
        }
    }

    /// The process of `session` has made the instance. False: that process is gone by now.
    func confirm(_ instance: UInt32, in session: ChildSession) -> Bool {
        state.withLock { state in
            guard state.session === session else { return false }
            state.live.insert(instance)
            return true
        }
    }

    /// Whether the process of `session` has the instance.
    func isLive(_ instance: UInt32, in session: ChildSession) -> Bool {
        state.withLock { $0.session === session && $0.live.contains(instance) && !$0.missing.contains(instance) }
    }

    /// The instance is gone, and its deliveries with it.
    func remove(_ instance: UInt32) {
        state.withLock { state in
            state.orders[instance] = nil
            state.live.remove(instance)
            state.missing.remove(instance)
            _ = state.ledger.endAll(of: instance)
        }
    }

    /// The instances that a new process is to make.
    func ordersOfNewProcess() -> [InstanceOrder] {
        state.withLock { state in
            state.missing = []
            return state.live.sorted().compactMap { state.orders[$0] }
        }
    }

    /// The host of an instance.
    func host(of instance: UInt32) -> HostPointer? { state.withLock { $0.orders[instance]?.host } }

    /// Whether there is no instance.
    var isEmpty: Bool { state.withLock { $0.orders.isEmpty } }
    /// Whether the process has deliveries, or has made requests that are open.
    var isBusy: Bool { state.withLock { $0.ledger.count > 0 } }
    /// Deliveries that were set aside.
    var setAside: Int { state.withLock(\.setAside) }

    /// The instance was not made again: its deliveries are refused until the next restart.
    func giveUp(_ instance: UInt32) {
        let (host, entries) = state.withLock { state in
            state.missing.insert(instance)
            return (state.orders[instance]?.host, state.ledger.endAll(of: instance))
        }
        for entry in entries { host?.complete(entry.ticket, .CARILLON_RETRY, reason: "failed") }
    }

    // MARK: The process

    /// The process of `session` works: it gets what has waited.
    func begin(_ session: ChildSession) {
        let frames = state.withLock { state in
            state.session = session
            state.requests = []
            state.ledger.started()
            return state.ledger.takeNext()
        }
        send(frames, to: session)
    }

    /// What the end of a process came to.
    struct End {
        /// Whether one suspect was in hand, and nothing beside it.
        let wasAlone: Bool
        fileprivate let host: HostPointer?
        fileprivate let culprit: DeliveryLedger.Entry?

        /// Ends the delivery that is set aside, if there is one.
        func settle() {
            guard let culprit else { return }
            host?.complete(culprit.ticket, .CARILLON_REJECTED, reason: "plugin-crashed")
        }
    }

    /// The process has died, or is to end. `named` is the delivery that its crash report names. ``End/settle()`` must
    /// follow.
    func end(_ session: ChildSession, named: UInt64?) -> End {
        state.withLock { state in
            guard state.session === session else { return End(wasAlone: false, host: nil, culprit: nil) }
            state.session = nil
            state.requests = []
            let wasAlone = state.ledger.isTryingSuspect
            let culprit = state.ledger.died(named: named)
            if culprit != nil { state.setAside += 1 }
            return End(wasAlone: wasAlone, host: culprit.flatMap { state.orders[$0.instance]?.host }, culprit: culprit)
        }
    }

    /// The process of `session` is not used any more; nothing is in hand.
    func release(_ session: ChildSession) {
        state.withLock { state in
            if state.session === session { state.session = nil }
        }
    }

    /// No process will ever work again.
    func close() {
        state.withLock { state in
            state.isClosed = true
            state.session = nil
        }
    }

    private func send(_ frames: [[UInt8]], to session: ChildSession?) {
        guard !frames.isEmpty else { return }
        // What a dead process does not get is tried again with the rest that it had in hand.
        _ = session?.send(Array(frames.joined()))
    }

    // MARK: Deliveries

    func deliver(
        _ instance: UInt32,
        _ ticket: UInt64,
        _ registration: carillon_registration,
        _ notification: carillon_notification
    ) -> carillon_status {
        let id = lastTicket.wrappingAdd(1, ordering: .relaxed).newValue
        // What a usual delivery takes, so that the frame does not grow step by step.
        var writer = FrameWriter(reserving: 1024)
        let fits = writer.frame(.deliver, id: id) { body in
            DeliverMessage.write(instance: instance, registration, notification, to: &body)
        }
        guard fits else { return .CARILLON_INVALID }
        let frame = writer.take()
        let (admission, session) = state.withLock { state -> (DeliveryLedger.Admission?, ChildSession?) in
            guard !state.isClosed, state.orders[instance] != nil, !state.missing.contains(instance) else {
                return (nil, nil)
            }
            return (state.ledger.admit(id, instance: instance, ticket: ticket, frame: frame), state.session)
        }
        switch admission {
        case nil: return .CARILLON_FAILED
        case .full: return .CARILLON_BUSY
        case .wait: return .CARILLON_OK
        case .send:
            // A process that has just died: the next one gets what this one had in hand, and so this delivery.
            guard case .full? = session?.send(frame, mayRefuse: true) else { return .CARILLON_OK }
            let isWithdrawn = state.withLock { $0.ledger.end(id, of: instance) != nil }
            return isWithdrawn ? .CARILLON_BUSY : .CARILLON_OK
        }
    }

    func cancel(_ instance: UInt32, _ ticket: UInt64) {
        let (cancellation, session, host, frames) = state.withLock { state in
            let cancellation = state.ledger.cancel(instance: instance, ticket: ticket)
            let frames = cancellation == .ended ? state.ledger.takeNext() : []
            return (cancellation, state.session, state.orders[instance]?.host, frames)
        }
        switch cancellation {
        case .unknown: break
        case .ended:
            host?.complete(ticket, .CARILLON_RETRY, reason: "cancelled")
            send(frames, to: session)
        case .forward(let id):
            var writer = FrameWriter()
            writer.frame(.cancel, id: id) { InstanceMessage(instance: instance).write(to: &$0) }
            _ = session?.send(writer.take())
        }
    }

    // MARK: What a process says

    /// Handles a frame of the socket of deliveries.
    func receive(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        switch frame.kind {
        case .completed:
            let message = try OutcomeMessage(reading: frame)
            end(frame.id, of: message.instance, from: session) { $0.complete($1, message.outcome) }
        case .refused:
            let message = try RefusedMessage(reading: frame)
            end(frame.id, of: message.instance, from: session) { host, ticket in
                let (kind, reason) = Self.outcome(of: message.status)
                host.complete(ticket, kind, reason: reason)
            }
        case .request: try request(frame, session)
        case .log:
            let message = try LogMessage(reading: frame)
            guard let host = speaker(message.instance) else { return }
            host.pointer.pointee.log?(host.pointer, message.level, message.text)
        case .mistake:
            let message = try MistakeMessage(reading: frame)
            guard let host = speaker(message.instance) else { return }
            onMistake(host.pointer, message.rule, message.text)
        default: throw .unexpected(frame.kind)
        }
    }

    /// The host of an instance that may say something now.
    private func speaker(_ instance: UInt32) -> HostPointer? {
        state.withLock { state in state.lines.take(at: now()) ? state.orders[instance]?.host : nil }
    }

    /// A delivery has ended. One that is unknown goes to the host as ticket 0, which counts it and ignores it.
    private func end(
        _ id: UInt64,
        of instance: UInt32,
        from session: ChildSession,
        _ tell: (HostPointer, UInt64) -> Void
    ) {
        let (host, ticket, frames) = state.withLock { state -> (HostPointer?, UInt64, [[UInt8]]) in
            let entry = state.session === session ? state.ledger.end(id, of: instance) : nil
            let frames = state.ledger.mayHaveNext ? state.ledger.takeNext() : []
            return (state.orders[instance]?.host, entry?.ticket ?? 0, frames)
        }
        if let host { tell(host, ticket) }
        send(frames, to: session)
    }

    /// The outcome of a delivery that a plugin would not accept.
    private static func outcome(of status: carillon_status) -> (carillon_outcome_kind, StaticString) {
        switch status {
        case .CARILLON_INVALID: (.CARILLON_REJECTED, "invalid")
        case .CARILLON_UNSUPPORTED: (.CARILLON_REJECTED, "unsupported")
        case .CARILLON_BUSY: (.CARILLON_RETRY, "busy")
        default: (.CARILLON_RETRY, "failed")
        }
    }

    // MARK: HTTP requests

    /// Leads from the host's `done` back to the process that asked.
    private final class OpenRequest: Sendable {
        let table: InstanceTable
        let session: ChildSession
        let id: UInt64
        let ticket: UInt64

        init(_ table: InstanceTable, _ session: ChildSession, id: UInt64, ticket: UInt64) {
            self.table = table
            self.session = session
            self.id = id
            self.ticket = ticket
        }
    }

    private func request(_ frame: Frame, _ session: ChildSession) throws(ProtocolError) {
        let message = try RequestMessage(reading: frame)
        let (isNew, host) = state.withLock { state -> (Bool, HostPointer?) in
            guard state.requests.insert(frame.id).inserted else { return (false, nil) }
            guard state.requests.count <= 4 * state.ledger.count + 64 else { return (true, nil) }
            state.ledger.beginRequest(for: message.ticket)
            return (true, state.orders[message.instance]?.host)
        }
        guard isNew else { throw .unexpected(.request) }
        let request = OpenRequest(self, session, id: frame.id, ticket: message.ticket)
        guard let host else { return end(request, Self.failure("overloaded")) }
        let context = Unmanaged.passRetained(request)
        let status = message.lend { lent in
            host.pointer.pointee.http_request?(host.pointer, lent, requestDone, context.toOpaque()) ?? .CARILLON_FAILED
        }
        guard status != .CARILLON_OK else { return }
        context.release()
        end(request, Self.failure(status == .CARILLON_BUSY ? "shutdown" : "refused"))
    }

    private static func failure(_ reason: StaticString) -> carillon_http_response {
        var response = carillon_http_response()
        response.struct_size = UInt32(MemoryLayout<carillon_http_response>.size)
        response.failure = carillon_str(ptr: UnsafeRawPointer(reason.utf8Start), len: reason.utf8CodeUnitCount)
        return response
    }

    private func end(_ request: OpenRequest, _ response: carillon_http_response) {
        var writer = FrameWriter()
        let fits = writer.frame(.response, id: request.id) { ResponseMessage.write(response, to: &$0) }
        if !fits {
            writer.frame(.response, id: request.id) { ResponseMessage.write(Self.failure("too-large"), to: &$0) }
        }
        let (session, frames) = state.withLock { state in
            if state.session === request.session { state.requests.remove(request.id) }
            state.ledger.endRequest(for: request.ticket)
            return (state.session, state.ledger.mayHaveNext ? state.ledger.takeNext() : [])
        }
        _ = request.session.send(writer.take())
        send(frames, to: session)
    }

    /// `done` of the host.
    fileprivate static func end(_ context: UnsafeMutableRawPointer?, _ response: UnsafePointer<carillon_http_response>?)
    {
        guard let context else { return }
        let request = Unmanaged<OpenRequest>.fromOpaque(context).takeRetainedValue()
        request.table.end(request, response?.pointee ?? failure("closed"))
    }
}

private func requestDone(_ context: UnsafeMutableRawPointer?, _ response: UnsafePointer<carillon_http_response>?) {
    InstanceTable.end(context, response)
}

/// How many lines the plugins of a process may have logged: 100 a second.
struct LineAllowance: Sendable {
    private static var perSecond: Int { 100 }

    private var second = Deadline.distantPast
    private var taken = 0

    /// Whether one more may pass at `now`.
    mutating func take(at now: Deadline) -> Bool {
        if now - second >= .seconds(1) { (second, taken) = (now, 0) }
        taken += 1
        return taken <= Self.perSecond
    }
}
