import CarillonABI
import PluginProtocol
import PluginServices
import Synchronization
import Units

/// The instances in a process with their deliveries and HTTP requests, across its restarts.
final class InstanceTable: Sendable {
    /// Told to the host: an instance's plugin broke a rule that its process has answered.
    typealias OnMistake = @Sendable (UnsafePointer<carillon_host>, MistakeMessage.Rule, String) -> Void

    private struct State {
        var orders: [UInt32: InstanceOrder] = [:]
        /// The hosts of these.
        var hosts: [UInt32: HostPointer] = [:]
        /// Instances that the process has made.
        var live: Set<UInt32> = []
        /// Of these, those that the present process could not make again.
        var missing: Set<UInt32> = []
        /// Instances that have missed what changed elsewhere, as no process had them.
        var stale: Set<UInt32> = []
        var lastInstance: UInt32 = 0
        var ledger = DeliveryLedger()
        /// The process that works, if there is one.
        var session: ChildSession?
        var isClosed = false
        var requests = ProcessRequests()
        var inbound = InboundTable()
        var setAside = 0
        var lines = LineAllowance()

        /// Whether deliveries may go to the instance.
        func has(_ instance: UInt32) -> Bool {
            hosts[instance] != nil && (missing.isEmpty || !missing.contains(instance))
        }
    }

    private let state = Mutex(State())
    private let lastTicket = Atomic<UInt64>(0)
    private let onMistake: OnMistake
    private let states: InstanceStates
    private let openStream: OpenStream
    private let now: @Sendable () -> Deadline

    init(
        onMistake: @escaping OnMistake,
        states: InstanceStates,
        openStream: @escaping OpenStream,
        now: @escaping @Sendable () -> Deadline
    ) {
        self.onMistake = onMistake
        self.states = states
        self.openStream = openStream
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
            state.hosts[order.number] = host
            return order
        }
    }

    /// The process of `session` has made the instance. False: that process is gone by now.
    func confirm(_ instance: UInt32, in session: ChildSession) -> Bool {
        let (isConfirmed, stale) = state.withLock { state -> (Bool, HostPointer?) in
            guard state.session === session else { return (false, nil) }
            state.live.insert(instance)
            return (true, state.stale.remove(instance) == nil ? nil : state.hosts[instance])
        }
        if let stale { states.refresh(stale.pointer) }
        return isConfirmed
    }

    /// Whether the process of `session` has the instance.
    func isLive(_ instance: UInt32, in session: ChildSession) -> Bool {
        state.withLock { $0.session === session && $0.live.contains(instance) && !$0.missing.contains(instance) }
    }

    /// The instance is gone, and its deliveries with it.
    func remove(_ instance: UInt32) {
        state.withLock { state in
            state.orders[instance] = nil
            state.hosts[instance] = nil
            state.live.remove(instance)
            state.missing.remove(instance)
            state.stale.remove(instance)
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
    func host(of instance: UInt32) -> HostPointer? { state.withLock { $0.hosts[instance] } }

    /// Whether there is no instance.
    var isEmpty: Bool { state.withLock { $0.orders.isEmpty } }
    /// Whether the process has deliveries, or has made requests that are open.
    var isBusy: Bool { state.withLock { $0.ledger.count > 0 || !$0.inbound.isEmpty } }
    /// Deliveries that were set aside.
    var setAside: Int { state.withLock(\.setAside) }

    /// The instance was not made again: its deliveries are refused until the next restart.
    func giveUp(_ instance: UInt32) {
        let (host, entries) = state.withLock { state in
            state.missing.insert(instance)
            return (state.hosts[instance], state.ledger.endAll(of: instance))
        }
        for entry in entries { host?.complete(entry.ticket, .CARILLON_RETRY, reason: "failed") }
    }

    // MARK: The process

    /// The process of `session` works: it gets what has waited.
    func begin(_ session: ChildSession) {
        let (frames, stale) = state.withLock { state in
            state.session = session
            state.requests.restart()
            state.ledger.started()
            let stale = state.stale.intersection(state.live).subtracting(state.missing)
            state.stale.subtract(stale)
            return (state.ledger.takeNext(), stale.compactMap { state.hosts[$0] })
        }
        for host in stale { states.refresh(host.pointer) }
        send(frames, to: session)
    }

    // MARK: State

    /// What is kept for an instance that a process is about to make.
    func stateOfNewInstance(_ order: InstanceOrder) -> [StateEntry] {
        state.withLock { _ = $0.stale.remove(order.number) }
        return states.open(order.host.pointer) { [weak self] change in self?.pass(change, to: order.number) }
    }

    /// Passes a change on, one at a time.
    private func pass(_ change: StateChange, to instance: UInt32) {
        let session = state.withLock { state -> ChildSession? in
            if let session = state.session, state.live.contains(instance), !state.missing.contains(instance) {
                return session
            }
            state.stale.insert(instance)
            return nil
        }
        guard let session else { return }
        let message = StoredMessage(instance: instance, isWhole: change.isWhole, entries: change.entries)
        _ = session.send(.stored, id: change.handled) { message.write(to: &$0) }
    }

    private func store(_ frame: Frame) throws(ProtocolError) {
        let message = try StoreMessage(reading: frame)
        // It may have ended just now.
        guard let host = host(of: message.instance) else { return }
        states.store(host.pointer, message.entry, frame.id)
    }

    /// What the end of a process came to.
    struct End {
        /// Whether one suspect was in hand, and nothing beside it.
        let wasAlone: Bool
        fileprivate var host: HostPointer?
        fileprivate var culprit: DeliveryLedger.Entry?
        /// Requests from outside that it did not answer.
        fileprivate var unanswered: [InboundTable.Waiter] = []

        /// Ends the delivery that is set aside, if there is one, and answers what the process did not.
        func settle() {
            for waiter in unanswered { waiter.answer(status: 502) }
            guard let culprit else { return }
            host?.complete(culprit.ticket, .CARILLON_REJECTED, reason: "plugin-crashed")
        }
    }

    /// The process has died, or is to end. `named` is the delivery that its crash report names. ``End/settle()`` must
    /// follow.
    func end(_ session: ChildSession, named: UInt64?) -> End {
        state.withLock { state in
            guard state.session === session else { return End(wasAlone: false) }
            state.session = nil
            state.requests.died(ObjectIdentifier(session), &state.ledger)
            let wasAlone = state.ledger.isTryingSuspect
            let culprit = state.ledger.died(named: named)
            if culprit != nil { state.setAside += 1 }
            return End(
                wasAlone: wasAlone,
                host: culprit.flatMap { state.hosts[$0.instance] },
                culprit: culprit,
                unanswered: state.inbound.removeAll()
            )
        }
    }

    /// The process of `session` is not used any more; nothing is in hand.
    func release(_ session: ChildSession) {
        state.withLock { state in
            guard state.session === session else { return }
            state.session = nil
            _ = state.inbound.removeAll()
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
            guard !state.isClosed, state.has(instance) else { return (nil, nil) }
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

    /// A delivery and the frame that hands it out alone.
    private struct Handout {
        let id: UInt64
        let ticket: UInt64
        let frame: [UInt8]
    }

    /// Hands several deliveries out in one frame where they may go out now and fit. OK: all are taken. UNSUPPORTED: one
    /// of them does not fit at all.
    func deliver(
        _ instance: UInt32,
        _ deliveries: some Collection<carillon_delivery>
    ) -> carillon_status {
        var frames: [Handout] = []
        for delivery in deliveries {
            guard let registration = delivery.registration, let notification = delivery.notification else {
                return .CARILLON_INVALID
            }
            let id = lastTicket.wrappingAdd(1, ordering: .relaxed).newValue
            var writer = FrameWriter(reserving: 1024)
            let fits = writer.frame(.deliver, id: id) { body in
                DeliverMessage.write(instance: instance, registration.pointee, notification.pointee, to: &body)
            }
            guard fits else { return .CARILLON_UNSUPPORTED }
            frames.append(Handout(id: id, ticket: delivery.ticket, frame: writer.take()))
        }
        let (admission, session) = state.withLock { state -> (DeliveryLedger.Admission?, ChildSession?) in
            guard !state.isClosed, state.has(instance) else { return (nil, nil) }
            var admission = DeliveryLedger.Admission.wait
            for delivery in frames where admission != .full {
                admission = state.ledger.admit(
                    delivery.id,
                    instance: instance,
                    ticket: delivery.ticket,
                    frame: delivery.frame
                )
            }
            // All of them or none.
            if admission == .full { for delivery in frames { state.ledger.withdraw(delivery.id) } }
            return (admission, state.session)
        }
        switch admission {
        case nil: return .CARILLON_FAILED
        case .full: return .CARILLON_BUSY
        case .wait: return .CARILLON_OK
        case .send:
            send(frames, of: instance, to: session)
            return .CARILLON_OK
        }
    }

    /// Sends deliveries that the ledger lets out, in as few frames as hold them.
    private func send(_ frames: [Handout], of instance: UInt32, to session: ChildSession?) {
        var rest = frames[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(DeliverManyMessage.count(of: rest.map(\.frame.count))))
            rest = rest.dropFirst(part.count)
            hand(part, of: instance, to: session)
        }
    }

    /// Sends deliveries in one frame. Those that the process does not keep up with end as retries.
    private func hand(_ part: [Handout], of instance: UInt32, to session: ChildSession?) {
        guard let first = part.first else { return }
        var frame = first.frame
        if part.count > 1 {
            state.withLock { state in
                if state.session === session { state.ledger.handOutTogether(part.map(\.id)) }
            }
            var writer = FrameWriter()
            writer.frame(.deliverMany, id: first.id) { body in
                DeliverManyMessage.write(part.map { ($0.id, $0.frame) }, to: &body)
            }
            frame = writer.take()
        }
        guard case .full? = session?.send(frame, mayRefuse: true) else { return }
        for delivery in part {
            let host = state.withLock { state in
                state.ledger.end(delivery.id, of: instance) == nil ? nil : state.hosts[instance]
            }
            host?.complete(delivery.ticket, .CARILLON_RETRY, reason: "busy")
        }
    }

    func cancel(_ instance: UInt32, _ ticket: UInt64) {
        let (cancellation, session, host, frames) = state.withLock { state in
            let cancellation = state.ledger.cancel(instance: instance, ticket: ticket)
            let frames = cancellation == .ended ? state.ledger.takeNext() : []
            return (cancellation, state.session, state.hosts[instance], frames)
        }
        switch cancellation {
        case .unknown: break
        case .ended:
            host?.complete(ticket, .CARILLON_RETRY, reason: "cancelled")
            send(frames, to: session)
        case .forward(let id):
            _ = session?.send(.cancel, id: id) { InstanceMessage(instance: instance).write(to: &$0) }
        }
    }

    // MARK: Requests from outside

    /// Hands a request to an instance. BUSY where its process does not run, or tries one delivery alone.
    func receive(
        _ instance: UInt32,
        _ request: carillon_inbound_request,
        _ done: @escaping carillon_inbound_done,
        _ context: UnsafeMutableRawPointer?
    ) -> carillon_status {
        let waiter = InboundTable.Waiter(instance: instance, done: done, context: context)
        let opened = state.withLock { state -> (number: UInt64, session: ChildSession)? in
            guard let session = state.session, state.ledger.mayReceive, state.live.contains(instance),
                !state.missing.contains(instance)
            else { return nil }
            return (state.inbound.open(waiter), session)
        }
        guard let (number, session) = opened else { return .CARILLON_BUSY }
        var writer = FrameWriter()
        let fits = writer.frame(.receive, id: number) {
            ReceiveMessage.write(instance: instance, request, to: &$0)
        }
        // Whoever asks a process that has just died is answered when its end is noted.
        if fits, session.send(writer.take(), mayRefuse: true) != .full { return .CARILLON_OK }
        guard case .ended = state.withLock({ $0.inbound.end(number) }) else { return .CARILLON_OK }
        return fits ? .CARILLON_BUSY : .CARILLON_INVALID
    }

    private func received(_ frame: Frame, _ session: ChildSession) throws(ProtocolError) {
        let message = try ReceivedMessage(reading: frame)
        switch state.withLock({ $0.session === session ? $0.inbound.end(frame.id) : .late }) {
        case .ended(let waiter) where waiter.instance == message.instance:
            message.lend { waiter.done(waiter.context, $0) }
        case .ended(let waiter):
            waiter.answer(status: 502)
            throw .unknownValue
        case .late: break
        case .unknown: throw .unexpected(.received)
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
        case .received: try received(frame, session)
        case .log:
            let message = try LogMessage(reading: frame)
            guard let host = speaker(message.instance) else { return }
            host.pointer.pointee.log?(host.pointer, message.level, message.text)
        case .mistake:
            let message = try MistakeMessage(reading: frame)
            guard let host = speaker(message.instance) else { return }
            onMistake(host.pointer, message.rule, message.text)
        case .store: try store(frame)
        case .streamOpen, .streamWrite, .streamStartTLS, .streamClose, .streamTaken:
            try session.streams.receive(
                frame,
                host: { host(of: $0) },
                open: openStream,
                send: { kind, id, body in _ = session.send(kind, id: id, body) }
            )
        default: throw .unexpected(frame.kind)
        }
    }

    /// The host of an instance that may say something now.
    private func speaker(_ instance: UInt32) -> HostPointer? {
        state.withLock { state in state.lines.take(at: now()) ? state.hosts[instance] : nil }
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
            return (state.hosts[instance], entry?.ticket ?? 0, frames)
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

        init(_ table: InstanceTable, _ session: ChildSession, id: UInt64) {
            self.table = table
            self.session = session
            self.id = id
        }
    }

    private func request(_ frame: Frame, _ session: ChildSession) throws(ProtocolError) {
        let message = try RequestMessage(reading: frame)
        let (isNew, host) = state.withLock { state -> (Bool, HostPointer?) in
            switch state.requests.begin(frame.id, for: message.ticket, inHand: state.ledger.count) {
            case .inUse: (false, nil)
            case .tooMany: (true, nil)
            case .taken: (true, state.hosts[message.instance])
            }
        }
        guard isNew else { throw .unexpected(.request) }
        let request = OpenRequest(self, session, id: frame.id)
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
        let (session, frames) = state.withLock { state in
            if state.session === request.session {
                state.requests.end(request.id)
            } else {
                state.requests.end(request.id, of: ObjectIdentifier(request.session), &state.ledger)
            }
            return (state.session, state.ledger.mayHaveNext ? state.ledger.takeNext() : [])
        }
        let fits = request.session.send(.response, id: request.id) { ResponseMessage.write(response, to: &$0) }
        if !fits {
            _ = request.session.send(.response, id: request.id) {
                ResponseMessage.write(Self.failure("too-large"), to: &$0)
            }
        }
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
