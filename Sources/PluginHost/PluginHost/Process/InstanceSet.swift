import CarillonABI
import Core
import PluginProtocol

/// The instances that a process must have, across its restarts, and which of them it has now. Pure: its owner makes the
/// process create and destroy them.
struct InstanceSet: Sendable {
    /// The work that remains after the start of a process.
    struct Beginning: Sendable {
        /// Instances that missed changes by others.
        var stale: [any InstanceHost] = []
        /// Instances that were destroyed after the process had created them: it must destroy them too.
        var leftovers: [UInt32] = []
    }

    private struct Record: Sendable {
        var order: InstanceOrder
        /// A process has created it, and each new one must create it again.
        var isMade = false
        /// The current process failed to create it again.
        var isMissing = false
        /// It missed changes by others, because no process had it.
        var isStale = false
        /// A starting process was asked to create it.
        var isRemade = false

        /// Whether the current process has it, if it runs.
        var isPresent: Bool { isMade && !isMissing }
    }

    private var records: [UInt32: Record] = [:]
    /// Instances that were destroyed after a starting process was asked to create them.
    private var leftovers: Set<UInt32> = []
    private var last: UInt32 = 0

    var isEmpty: Bool { records.isEmpty }

    func host(of instance: UInt32) -> (any InstanceHost)? { records[instance]?.order.host }

    /// Whether deliveries may be sent to the instance.
    func takesDeliveries(_ instance: UInt32) -> Bool { records[instance].map { !$0.isMissing } ?? false }

    /// Whether the current process has the instance, if it runs.
    func isPresent(_ instance: UInt32) -> Bool { records[instance]?.isPresent ?? false }

    /// Adds an instance that the process is about to create. Its number replaces the one in `message`.
    mutating func add(_ host: any InstanceHost, _ message: CreateMessage) -> InstanceOrder {
        last += 1
        var order = InstanceOrder(message: message, host: host)
        order.message.instance = last
        records[last] = Record(order: order)
        return order
    }

    /// Notes that the current process has created an instance. Returns its host if it missed changes.
    mutating func confirm(_ instance: UInt32) -> (any InstanceHost)? {
        guard let record = records[instance] else { return nil }
        records[instance]?.isMade = true
        records[instance]?.isStale = false
        return record.isStale ? record.order.host : nil
    }

    /// Marks an instance for destruction, so that no process creates it again. Returns whether the current process has
    /// it and must destroy it. A starting process destroys it later.
    mutating func beginDestruction(_ instance: UInt32, isRunning: Bool) -> Bool {
        guard let record = records[instance] else { return false }
        records[instance]?.isMade = false
        if record.isRemade { leftovers.insert(instance) }
        return isRunning && record.isPresent
    }

    mutating func remove(_ instance: UInt32) { records[instance] = nil }

    /// The instances of one library, for a separate process.
    func part(of library: UInt32) -> InstanceSet {
        var part = InstanceSet()
        part.last = last
        for (instance, record) in records where record.isMade && record.order.library == library {
            var order = record.order
            order.message.library = 0
            part.records[instance] = Record(order: order, isMade: true)
        }
        return part
    }

    /// Instances that each new process must create.
    var present: Set<UInt32> { Set(records.filter(\.value.isMade).keys) }

    func library(of instance: UInt32) -> UInt32? { records[instance]?.order.library }

    // MARK: A new process

    /// The instances that a new process must create, each after ``beginRemaking(_:)``.
    mutating func startRemaking() -> [InstanceOrder] {
        leftovers = []
        for instance in records.keys {
            records[instance]?.isMissing = false
            records[instance]?.isRemade = false
        }
        return present.sorted().compactMap { records[$0]?.order }
    }

    /// Notes that a new process is about to be asked for the instance. False: it has been destroyed.
    mutating func beginRemaking(_ instance: UInt32) -> Bool {
        guard records[instance]?.isMade == true else { return false }
        records[instance]?.isRemade = true
        return true
    }

    /// Notes that the new process failed to create the instance.
    mutating func giveUp(_ instance: UInt32) {
        leftovers.remove(instance)
        records[instance]?.isRemade = false
        records[instance]?.isMissing = true
    }

    /// Notes that the new process runs.
    mutating func begin() -> Beginning {
        var beginning = Beginning(leftovers: leftovers.sorted())
        leftovers = []
        for (instance, record) in records.sorted(by: { $0.key < $1.key }) {
            records[instance]?.isRemade = false
            guard record.isStale, record.isPresent else { continue }
            records[instance]?.isStale = false
            beginning.stale.append(record.order.host)
        }
        return beginning
    }

    // MARK: State

    /// Notes that the instance gets all its stored values.
    mutating func refresh(_ instance: UInt32) { records[instance]?.isStale = false }

    /// Whether the instance's process receives a change, which requires that it runs. Otherwise the instance misses it.
    mutating func hears(_ instance: UInt32, isRunning: Bool) -> Bool {
        if isRunning, isPresent(instance) { return true }
        records[instance]?.isStale = true
        return false
    }
}

/// The order to create a plugin's instance, repeated after each restart.
struct InstanceOrder: Sendable {
    /// The request to its process, without the stored values.
    var message: CreateMessage
    let host: any InstanceHost

    var number: UInt32 { message.instance }
    /// The number of its library in the process.
    var library: UInt32 { message.library }
}
