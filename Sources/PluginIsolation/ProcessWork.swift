import CarillonABI
import PluginProtocol
import Synchronization

/// What a process has or is to get: instances, deliveries, requests. Those who talk to the process share it.
final class ProcessWork: Sendable {
    /// What the lock holds.
    struct State: Sendable {
        /// The process that works, if there is one.
        var session: ChildSession?
        /// No process will ever work again.
        var isClosed = false
        var roster = InstanceRoster()
        var ledger = DeliveryLedger()
        var requests = ProcessRequests()
        var inbound = InboundTable()
        /// Deliveries that were set aside.
        var setAside = 0
        /// The work that remained when each library got its own process.
        var parts: [ProcessWork] = []

        /// What is to be handed out after a delivery or a request has ended.
        mutating func takeNext() -> [[UInt8]] { ledger.mayHaveNext ? ledger.takeNext() : [] }

        /// The remaining work for one library. `guilty` is the one that caused the death; nil if unknown.
        fileprivate func part(of library: UInt32, guilty: UInt32?) -> State {
            var part = State()
            part.roster = roster.part(of: library)
            part.ledger = ledger.part(of: part.roster.present, mayBeGuilty: guilty == nil || guilty == library)
            part.setAside = setAside
            return part
        }
    }

    private let state: Mutex<State>

    init(_ state: State = State()) { self.state = Mutex(state) }

    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

    /// Divides the remaining work into one process for each of `count` libraries; this process gets no more.
    func divide(among count: Int, guilty: UInt32?) -> [ProcessWork] {
        withLock { state in
            state.isClosed = true
            state.parts = (0..<count).map { ProcessWork(state.part(of: UInt32($0), guilty: guilty)) }
            state.ledger = DeliveryLedger()
            return state.parts
        }
    }

    /// A request that a former process sent for deliveries has ended.
    func endRequest(for deliveries: [UInt64]) {
        let (session, frames) = withLock { state in
            state.ledger.endRequest(for: deliveries)
            return (state.session, state.takeNext())
        }
        Self.send(frames, to: session)
    }

    /// The host of an instance.
    func host(of instance: UInt32) -> HostPointer? { withLock { $0.roster.host(of: instance) } }

    /// Sends frames of the ledger.
    static func send(_ frames: [[UInt8]], to session: ChildSession?) {
        guard !frames.isEmpty else { return }
        // What a dead process does not get is tried again with the rest that it had in hand.
        _ = session?.send(Array(frames.joined()))
    }
}
