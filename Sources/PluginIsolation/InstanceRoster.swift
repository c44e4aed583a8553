import CarillonABI
import PluginProtocol
import PluginServices

/// The instances that a process is to have, across its restarts, and which of them it has now. Pure: its owner asks the
/// process to make and to destroy them.
struct InstanceRoster: Sendable {
    /// What is to be done about an instance that is destroyed.
    enum Destruction: Sendable, Equatable {
        /// The present process has it, and is to destroy it.
        case ask
        /// No process has it, or the one that is starting will be told.
        case nothing
    }

    /// What the start of a process leaves to do.
    struct Beginning: Sendable {
        /// Instances that have missed what changed elsewhere.
        var stale: [HostPointer] = []
        /// Instances that were destroyed after the process had made them: it is to destroy them as well.
        var leftovers: [UInt32] = []
    }

    private var orders: [UInt32: InstanceOrder] = [:]
    private var hosts = NumberTable<HostPointer>()
    /// Instances that a process has made, and that each new one is to make again.
    private var made: Set<UInt32> = []
    /// Of these, those that the present process could not make again.
    private var missing: Set<UInt32> = []
    /// Instances that have missed what changed elsewhere, as no process had them.
    private var stale: Set<UInt32> = []
    /// Those that a process which does not work yet was asked to make.
    private var remade: Set<UInt32> = []
    /// Of these, those that were destroyed since.
    private var leftovers: Set<UInt32> = []
    private var last: UInt32 = 0

    /// Whether there is no instance.
    var isEmpty: Bool { orders.isEmpty }

    /// The host of an instance.
    func host(of instance: UInt32) -> HostPointer? { hosts[UInt64(instance)] }

    /// Whether deliveries may go to the instance.
    func takesDeliveries(_ instance: UInt32) -> Bool {
        hosts[UInt64(instance)] != nil && (missing.isEmpty || !missing.contains(instance))
    }

    /// Whether the present process has the instance, if it works.
    func isPresent(_ instance: UInt32) -> Bool { made.contains(instance) && !missing.contains(instance) }

    /// A new instance that the process is about to make.
    mutating func add(
        _ host: HostPointer,
        library: UInt32,
        _ table: CreateMessage.Table,
        index: UInt32,
        configuration: String
    ) -> InstanceOrder {
        last += 1
        let order = InstanceOrder(
            number: last,
            library: library,
            table: table,
            index: index,
            configuration: configuration,
            host: host
        )
        orders[last] = order
        _ = hosts.insert(host, for: UInt64(last))
        return order
    }

    /// The present process has made a new instance. Returns its host if it has missed changes meanwhile.
    mutating func confirm(_ instance: UInt32) -> HostPointer? {
        made.insert(instance)
        return stale.remove(instance) == nil ? nil : host(of: instance)
    }

    /// An instance is about to be destroyed: no process makes it again.
    mutating func beginDestruction(_ instance: UInt32, isRunning: Bool) -> Destruction {
        let isPresent = isPresent(instance)
        made.remove(instance)
        if remade.contains(instance) { leftovers.insert(instance) }
        return isRunning && isPresent ? .ask : .nothing
    }

    /// The instance is gone.
    mutating func remove(_ instance: UInt32) {
        orders[instance] = nil
        _ = hosts.remove(UInt64(instance))
        made.remove(instance)
        missing.remove(instance)
        stale.remove(instance)
    }

    /// The instances of one library, which a process of its own is to make.
    func part(of library: UInt32) -> InstanceRoster {
        var part = InstanceRoster()
        part.last = last
        part.made = made.filter { orders[$0]?.library == library }
        for instance in part.made {
            guard var order = orders[instance] else { continue }
            order.library = 0
            part.orders[instance] = order
            _ = part.hosts.insert(order.host, for: UInt64(instance))
        }
        return part
    }

    /// Instances that each new process is to make.
    var present: Set<UInt32> { made }

    /// The library of an instance.
    func library(of instance: UInt32) -> UInt32? { orders[instance]?.library }

    // MARK: A new process

    /// What a new process is to make, each after ``beginRemaking(_:)``.
    mutating func startRemaking() -> [InstanceOrder] {
        missing = []
        remade = []
        leftovers = []
        return made.sorted().compactMap { orders[$0] }
    }

    /// A new process is about to be asked for the instance. False: it was destroyed meanwhile.
    mutating func beginRemaking(_ instance: UInt32) -> Bool {
        guard made.contains(instance) else { return false }
        remade.insert(instance)
        return true
    }

    /// The new process could not make the instance.
    mutating func giveUp(_ instance: UInt32) {
        remade.remove(instance)
        leftovers.remove(instance)
        if orders[instance] != nil { missing.insert(instance) }
    }

    /// The new process works from now on.
    mutating func begin() -> Beginning {
        let missed = stale.intersection(made).subtracting(missing)
        stale.subtract(missed)
        defer { (remade, leftovers) = ([], []) }
        return Beginning(stale: missed.compactMap { host(of: $0) }, leftovers: leftovers.sorted())
    }

    // MARK: State

    /// The instance is told all that is kept for it.
    mutating func refresh(_ instance: UInt32) { stale.remove(instance) }

    /// Something changes for the instance, which its process can hear of if it works. False: it misses the change.
    mutating func hears(_ instance: UInt32, isRunning: Bool) -> Bool {
        if isRunning, isPresent(instance) { return true }
        if orders[instance] != nil { stale.insert(instance) }
        return false
    }
}
