import CarillonABI
import Core
import PluginProtocol
import Synchronization

/// The instances in a process across its restarts, and the handling of its frames.
final class InstanceTable: Sendable {
    /// The process's current and pending work.
    struct State: Sendable {
        /// The running process, if any.
        var session: ChildSession?
        /// No process will run again.
        var isClosed = false
        var instanceSet = InstanceSet()
        var deliveryTable = DeliveryTable()
        var requests = ProcessRequests()
        var inbound = InboundTable()
        /// The number of abandoned deliveries.
        var abandoned = 0
        /// The work that remained when each library got its own process.
        var parts: [InstanceTable] = []

        /// The frames to send after a delivery or a request has ended.
        mutating func takeNext() -> [[UInt8]] { deliveryTable.mayHaveNext ? deliveryTable.takeNext() : [] }

        /// The remaining work for one library. `guilty` is the one that caused the death; nil if unknown.
        fileprivate func part(of library: UInt32, guilty: UInt32?) -> State {
            var part = State()
            part.instanceSet = instanceSet.part(of: library)
            part.deliveryTable = deliveryTable.part(
                of: part.instanceSet.present,
                mayBeGuilty: guilty == nil || guilty == library
            )
            part.abandoned = abandoned
            return part
        }
    }

    /// The ID of the last delivery that was sent.
    let lastID: Atomic<UInt64>
    private let state: Mutex<State>
    private let lines = Mutex(LogRateLimit())
    private let now: @Sendable () -> Deadline

    init(now: @escaping @Sendable () -> Deadline) {
        self.now = now
        state = Mutex(State())
        lastID = Atomic(0)
    }

    /// A part of `whole`, for one of its libraries.
    private init(_ part: State, of whole: InstanceTable) {
        now = whole.now
        state = Mutex(part)
        lastID = Atomic(whole.lastID.load(ordering: .relaxed))
    }

    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

    /// Divides the remaining work into one table for each of `count` libraries; this process gets no new work. `guilty`
    /// is the one that caused the death; nil if unknown.
    func divide(among count: Int, guilty: UInt32?) -> [InstanceTable] {
        withLock { state in
            state.isClosed = true
            state.parts = (0..<count).map { InstanceTable(state.part(of: UInt32($0), guilty: guilty), of: self) }
            state.deliveryTable = DeliveryTable()
            return state.parts
        }
    }

    // MARK: Instances

    /// Adds an instance that the process is about to create. Its number replaces the one in `message`.
    func add(_ host: any InstanceHost, _ message: CreateMessage) -> InstanceOrder {
        withLock { $0.instanceSet.add(host, message) }
    }

    /// Notes that the process of `session` has created the instance. False: that process is gone.
    func confirm(_ instance: UInt32, in session: ChildSession) -> Bool {
        let (isConfirmed, stale) = withLock { state -> (Bool, (any InstanceHost)?) in
            guard state.session === session else { return (false, nil) }
            return (true, state.instanceSet.confirm(instance))
        }
        stale?.refreshState()
        return isConfirmed
    }

    /// Marks an instance for destruction. Returns the process that must destroy it; nil: none has it. ``begin(_:)``
    /// destroys it in a starting process that has created it.
    func beginDestruction(_ instance: UInt32) -> ChildSession? {
        withLock { state in
            state.instanceSet.beginDestruction(instance, isRunning: state.session != nil) ? state.session : nil
        }
    }

    /// Removes a destroyed instance and its deliveries.
    func remove(_ instance: UInt32) {
        withLock { state in
            state.instanceSet.remove(instance)
            _ = state.deliveryTable.endAll(of: instance)
        }
    }

    /// How many instances each new process must create.
    var instanceCount: Int { withLock(\.instanceSet.present.count) }

    /// The library of a delivery's instance.
    func library(ofDelivery id: UInt64) -> UInt32? {
        withLock { state in state.deliveryTable.instance(of: id).flatMap { state.instanceSet.library(of: $0) } }
    }

    func host(of instance: UInt32) -> (any InstanceHost)? { withLock { $0.instanceSet.host(of: instance) } }

    /// Whether the process has deliveries or open requests.
    var isBusy: Bool { withLock { $0.deliveryTable.count > 0 || !$0.inbound.isEmpty } }
    /// The number of abandoned deliveries.
    var abandoned: Int { withLock { $0.abandoned } }

    // MARK: The process

    /// The instances that a new process must create, each after ``beginRemaking(_:)``.
    func startRemaking() -> [InstanceOrder] { withLock { $0.instanceSet.startRemaking() } }

    /// Notes that a new process is about to be asked for the instance. False: it has been destroyed.
    func beginRemaking(_ instance: UInt32) -> Bool { withLock { $0.instanceSet.beginRemaking(instance) } }

    /// Notes that the instance was not created again: its deliveries are refused until the next restart.
    func giveUp(_ instance: UInt32) {
        let (host, entries) = withLock { state in
            state.instanceSet.giveUp(instance)
            return (state.instanceSet.host(of: instance), state.deliveryTable.endAll(of: instance))
        }
        for entry in entries { host?.complete(entry.ticket, .CARILLON_RETRY, reason: "failed") }
    }

    /// Starts to use the process of `session`: it gets waiting deliveries, and destroys instances that were destroyed
    /// in the meantime.
    func begin(_ session: ChildSession) {
        let (frames, beginning) = withLock { state in
            state.session = session
            state.requests.restart()
            state.deliveryTable.started()
            return (state.deliveryTable.takeNext(), state.instanceSet.begin())
        }
        for instance in beginning.leftovers {
            let message = InstanceMessage(instance: instance)
            session.ask(.destroy, { message.write(to: &$0) }, then: { _ in })
        }
        for host in beginning.stale { host.refreshState() }
        Self.send(frames, to: session)
    }

    /// The effects of a process's end.
    struct ExitSummary: Sendable {
        /// Whether a single suspect was being tried.
        let wasAlone: Bool
        fileprivate var host: (any InstanceHost)?
        fileprivate var culprit: DeliveryTable.Entry?
        /// Inbound requests that it did not answer.
        fileprivate var unanswered: [InboundTable.Waiter] = []

        /// Ends the abandoned delivery, if any, and answers the process's open requests.
        func settle() {
            for waiter in unanswered { waiter.done(.failed) }
            guard let culprit else { return }
            host?.complete(culprit.ticket, .CARILLON_REJECTED, reason: "plugin-crashed")
        }
    }

    /// Notes that the process has died, or will be ended. `named` is the delivery in its crash report.
    /// ``ExitSummary/settle()`` must follow.
    func end(_ session: ChildSession, named: UInt64?) -> ExitSummary {
        withLock { state in
            guard state.session === session else { return ExitSummary(wasAlone: false) }
            state.session = nil
            state.requests.died(ObjectIdentifier(session), &state.deliveryTable)
            let wasAlone = state.deliveryTable.isTryingSuspect
            let culprit = state.deliveryTable.died(named: named)
            if culprit != nil { state.abandoned += 1 }
            return ExitSummary(
                wasAlone: wasAlone,
                host: culprit.flatMap { state.instanceSet.host(of: $0.instance) },
                culprit: culprit,
                unanswered: state.inbound.removeAll()
            )
        }
    }

    /// Stops using the process of `session`; it has no open deliveries.
    func release(_ session: ChildSession) {
        withLock { state in
            guard state.session === session else { return }
            state.session = nil
            _ = state.inbound.removeAll()
        }
    }

    /// No process will run again.
    func close() {
        withLock { state in
            state.isClosed = true
            state.session = nil
        }
    }

    // MARK: State

    /// The stored values of an instance that a process is about to create.
    func stateOfNewInstance(_ order: InstanceOrder) -> [StateEntry] {
        withLock { $0.instanceSet.refresh(order.number) }
        return order.host.openState { [weak self] change in self?.pass(change, to: order.number) }
    }

    /// Forwards a change, one at a time.
    private func pass(_ change: StateChange, to instance: UInt32) {
        let session = withLock { state in
            state.instanceSet.hears(instance, isRunning: state.session != nil) ? state.session : nil
        }
        guard let session else { return }
        let message = StoredMessage(instance: instance, isWhole: change.isWhole, entries: change.entries)
        _ = session.send(.stored, id: change.handled) { message.write(to: &$0) }
    }

    private func store(_ frame: Frame) throws(ProtocolError) {
        let message = try StoreMessage(reading: frame)
        // It may have ended just now.
        host(of: message.instance)?.store(message.entry, change: frame.id)
    }

    // MARK: Frames from the process

    /// Handles a frame of the socket of deliveries.
    func receive(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        switch frame.kind {
        case .completed: try complete(frame, from: session)
        case .refused: try refuse(frame, from: session)
        case .request: try receiveRequest(frame, from: session)
        case .received: try receiveInbound(frame, from: session)
        case .log:
            let message = try LogMessage(reading: frame)
            speaker(message.instance)?.logLine(message.level, message.text)
        case .mistake:
            let message = try ViolationMessage(reading: frame)
            speaker(message.instance)?.note(message.rule, message.text)
        case .store: try store(frame)
        case .streamOpen, .streamWrite, .streamStartTLS, .streamClose, .streamTaken:
            try session.streams.receive(
                frame,
                host: { host(of: $0) },
                send: { kind, id, body in _ = session.send(kind, id: id, body) }
            )
        default: throw .unexpected(frame.kind)
        }
    }

    /// Answers a process's question whether an instance may present this client certificate.
    func answerQuestion(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        let message = try PresentMessage(reading: frame)
        let (status, text) = host(of: message.instance)?.present(message) ?? (.CARILLON_INVALID, "")
        var writer = FrameWriter()
        _ = writer.frame(.reply, id: frame.id) { AnswerMessage.write(status, text, to: &$0) }
        session.reply(writer.take())
    }

    /// The host of an instance whose reports are currently accepted.
    private func speaker(_ instance: UInt32) -> (any InstanceHost)? {
        lines.withLock { $0.take(at: now()) } ? host(of: instance) : nil
    }

    /// Notes that a previous process's request for deliveries has ended.
    func endRequest(for deliveries: [UInt64]) {
        let (session, frames) = withLock { state in
            state.deliveryTable.endRequest(for: deliveries)
            return (state.session, state.takeNext())
        }
        Self.send(frames, to: session)
    }

    /// Sends frames of the delivery table.
    static func send(_ frames: [[UInt8]], to session: ChildSession?) {
        guard !frames.isEmpty else { return }
        // If the process has died, the frames are resent with its other open deliveries.
        _ = session?.send(Array(frames.joined()))
    }
}
