import CarillonABI
import PluginProtocol
import PluginServices
import Synchronization
import Units

/// The instances in a process across its restarts, and what the process says about them.
final class InstanceTable: Sendable {
    /// Told to the host: an instance's plugin broke a rule that its process has answered.
    typealias OnMistake = @Sendable (UnsafePointer<carillon_host>, MistakeMessage.Rule, String) -> Void

    let deliveries: DeliveryChannel
    let inbound: InboundRelay
    private let requests: RequestRelay
    private let work: ProcessWork
    private let lines = Mutex(LineAllowance())
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
        work = ProcessWork()
        deliveries = DeliveryChannel(work)
        inbound = InboundRelay(work)
        requests = RequestRelay(work)
    }

    /// A part of `whole`, for one of its libraries.
    private init(_ work: ProcessWork, of whole: InstanceTable) {
        (onMistake, states, openStream, now) = (whole.onMistake, whole.states, whole.openStream, whole.now)
        self.work = work
        deliveries = whole.deliveries.part(work)
        inbound = InboundRelay(work)
        requests = RequestRelay(work)
    }

    /// Divides the remaining work into one table for each of `count` libraries. `guilty` is the one that caused the
    /// death; nil if unknown.
    func divide(among count: Int, guilty: UInt32?) -> [InstanceTable] {
        work.divide(among: count, guilty: guilty).map { InstanceTable($0, of: self) }
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
        return work.withLock {
            $0.roster.add(host, library: library, table, index: index, configuration: configuration)
        }
    }

    /// The process of `session` has made the instance. False: that process is gone by now.
    func confirm(_ instance: UInt32, in session: ChildSession) -> Bool {
        let (isConfirmed, stale) = work.withLock { state -> (Bool, HostPointer?) in
            guard state.session === session else { return (false, nil) }
            return (true, state.roster.confirm(instance))
        }
        if let stale { states.refresh(stale.pointer) }
        return isConfirmed
    }

    /// An instance is about to be destroyed. Returns the process that is to be asked; nil: none has it. One that is
    /// just starting, and has made it, is told by ``begin(_:)``.
    func beginDestruction(_ instance: UInt32) -> ChildSession? {
        work.withLock { state in
            switch state.roster.beginDestruction(instance, isRunning: state.session != nil) {
            case .ask: state.session
            case .nothing: nil
            }
        }
    }

    /// The instance is gone, and its deliveries with it.
    func remove(_ instance: UInt32) {
        work.withLock { state in
            state.roster.remove(instance)
            _ = state.ledger.endAll(of: instance)
        }
    }

    /// How many instances each new process is to make.
    var instanceCount: Int { work.withLock(\.roster.present.count) }

    /// The library of the instance that a delivery goes to.
    func library(ofDelivery id: UInt64) -> UInt32? {
        work.withLock { state in state.ledger.instance(of: id).flatMap { state.roster.library(of: $0) } }
    }

    /// The host of an instance.
    func host(of instance: UInt32) -> HostPointer? { work.host(of: instance) }

    /// Whether the process has deliveries, or has made requests that are open.
    var isBusy: Bool { work.withLock { $0.ledger.count > 0 || !$0.inbound.isEmpty } }
    /// Deliveries that were set aside.
    var setAside: Int { work.withLock { $0.setAside } }

    // MARK: The process

    /// What a new process is to make, each after ``beginRemaking(_:)``.
    func startRemaking() -> [InstanceOrder] { work.withLock { $0.roster.startRemaking() } }

    /// A new process is about to be asked for the instance. False: it was destroyed meanwhile.
    func beginRemaking(_ instance: UInt32) -> Bool { work.withLock { $0.roster.beginRemaking(instance) } }

    /// The instance was not made again: its deliveries are refused until the next restart.
    func giveUp(_ instance: UInt32) {
        let (host, entries) = work.withLock { state in
            state.roster.giveUp(instance)
            return (state.roster.host(of: instance), state.ledger.endAll(of: instance))
        }
        for entry in entries { host?.complete(entry.ticket, .CARILLON_RETRY, reason: "failed") }
    }

    /// The process of `session` works: it gets what has waited, and destroys what was destroyed meanwhile.
    func begin(_ session: ChildSession) {
        let (frames, beginning) = work.withLock { state in
            state.session = session
            state.requests.restart()
            state.ledger.started()
            return (state.ledger.takeNext(), state.roster.begin())
        }
        for instance in beginning.leftovers {
            let message = InstanceMessage(instance: instance)
            session.ask(.destroy, { message.write(to: &$0) }, then: { _ in })
        }
        for host in beginning.stale { states.refresh(host.pointer) }
        ProcessWork.send(frames, to: session)
    }

    /// What the end of a process came to.
    struct End: Sendable {
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
        work.withLock { state in
            guard state.session === session else { return End(wasAlone: false) }
            state.session = nil
            state.requests.died(ObjectIdentifier(session), &state.ledger)
            let wasAlone = state.ledger.isTryingSuspect
            let culprit = state.ledger.died(named: named)
            if culprit != nil { state.setAside += 1 }
            return End(
                wasAlone: wasAlone,
                host: culprit.flatMap { state.roster.host(of: $0.instance) },
                culprit: culprit,
                unanswered: state.inbound.removeAll()
            )
        }
    }

    /// The process of `session` is not used any more; nothing is in hand.
    func release(_ session: ChildSession) {
        work.withLock { state in
            guard state.session === session else { return }
            state.session = nil
            _ = state.inbound.removeAll()
        }
    }

    /// No process will ever work again.
    func close() {
        work.withLock { state in
            state.isClosed = true
            state.session = nil
        }
    }

    // MARK: State

    /// What is kept for an instance that a process is about to make.
    func stateOfNewInstance(_ order: InstanceOrder) -> [StateEntry] {
        work.withLock { $0.roster.refresh(order.number) }
        return states.open(order.host.pointer) { [weak self] change in self?.pass(change, to: order.number) }
    }

    /// Passes a change on, one at a time.
    private func pass(_ change: StateChange, to instance: UInt32) {
        let session = work.withLock { state in
            state.roster.hears(instance, isRunning: state.session != nil) ? state.session : nil
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

    // MARK: What a process says

    /// Handles a frame of the socket of deliveries.
    func receive(_ frame: Frame, from session: ChildSession) throws(ProtocolError) {
        switch frame.kind {
        case .completed: try deliveries.complete(frame, from: session)
        case .refused: try deliveries.refuse(frame, from: session)
        case .request: try requests.receive(frame, from: session)
        case .received: try inbound.receive(frame, from: session)
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
        lines.withLock { $0.take(at: now()) } ? host(of: instance) : nil
    }
}
