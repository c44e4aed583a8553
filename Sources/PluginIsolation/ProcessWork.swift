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

        /// What is to be handed out after a delivery or a request has ended.
        mutating func takeNext() -> [[UInt8]] { ledger.mayHaveNext ? ledger.takeNext() : [] }
    }

    private let state = Mutex(State())

    func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result { state.withLock { body(&$0) } }

    /// The host of an instance.
    func host(of instance: UInt32) -> HostPointer? { withLock { $0.roster.host(of: instance) } }

    /// Sends frames of the ledger.
    static func send(_ frames: [[UInt8]], to session: ChildSession?) {
        guard !frames.isEmpty else { return }
        // What a dead process does not get is tried again with the rest that it had in hand.
        _ = session?.send(Array(frames.joined()))
    }
}
