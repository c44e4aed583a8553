import CarillonABI
import Core
import PluginProtocol

/// The instances that a process is to have, across its restarts, and which of them it has now. Pure: its owner asks the
/// process to make and to destroy them.
struct InstanceRoster: Sendable {
    /// What the start of a process leaves to do.
    struct Beginning: Sendable {
        /// Instances that have missed what changed elsewhere.
        var stale: [any InstanceHost] = []
        /// Instances that were destroyed after the process had made them: it is to destroy them as well.
        var leftovers: [UInt32] = []
    }

    private struct Record: Sendable {
        var order: InstanceOrder
        /// A process has made it, and each new one is to make it again.
        var isMade = false
        /// The present process could not make it again.
        var isMissing = false
        /// It has missed what changed elsewhere, as no process had it.
        var isStale = false
        /// A process that does not work yet was asked to make it.
        var isRemade = false

        /// Whether the present process has it, if it works.
        var isPresent: Bool { isMade && !isMissing }
    }

    private var records: [UInt32: Record] = [:]
    /// Instances that were destroyed after a process that does not work yet was asked to make them.
    private var leftovers: Set<UInt32> = []
    private var last: UInt32 = 0

    /// Whether there is no instance.
    var isEmpty: Bool { records.isEmpty }

    /// The host of an instance.
    func host(of instance: UInt32) -> (any InstanceHost)? { records[instance]?.order.host }

    /// Whether deliveries may go to the instance.
    func takesDeliveries(_ instance: UInt32) -> Bool { records[instance].map { !$0.isMissing } ?? false }

    /// Whether the present process has the instance, if it works.
    func isPresent(_ instance: UInt32) -> Bool { records[instance]?.isPresent ?? false }

    /// A new instance that the process is about to make. Its number replaces that of `message`.
    mutating func add(_ host: any InstanceHost, _ message: CreateMessage) -> InstanceOrder {
        last += 1
        var order = InstanceOrder(message: message, host: host)
        order.message.instance = last
        records[last] = Record(order: order)
        return order
    }

    /// The present process has made a new instance. Returns its host if it has missed changes meanwhile.
    mutating func confirm(_ instance: UInt32) -> (any InstanceHost)? {
        guard let record = records[instance] else { return nil }
        records[instance]?.isMade = true
        records[instance]?.isStale = false
        return record.isStale ? record.order.host : nil
    }

    /// An instance is about to be destroyed: no process makes it again. Returns whether the present process has it, and
    /// must destroy it. One that is starting is told later.
    mutating func beginDestruction(_ instance: UInt32, isRunning: Bool) -> Bool {
        guard let record = records[instance] else { return false }
        records[instance]?.isMade = false
        if record.isRemade { leftovers.insert(instance) }
        return isRunning && record.isPresent
    }

    /// The instance is gone.
    mutating func remove(_ instance: UInt32) { records[instance] = nil }

    /// The instances of one library, which a process of its own is to make.
    func part(of library: UInt32) -> InstanceRoster {
        var part = InstanceRoster()
        part.last = last
        for (instance, record) in records where record.isMade && record.order.library == library {
            var order = record.order
            order.message.library = 0
            part.records[instance] = Record(order: order, isMade: true)
        }
        return part
    }

    /// Instances that each new process is to make.
    var present: Set<UInt32> { Set(records.filter(\.value.isMade).keys) }

    /// The library of an instance.
    func library(of instance: UInt32) -> UInt32? { records[instance]?.order.library }

    // MARK: A new process

    /// What a new process is to make, each after ``beginRemaking(_:)``.
    mutating func startRemaking() -> [InstanceOrder] {
        leftovers = []
        for instance in records.keys {
            records[instance]?.isMissing = false
            records[instance]?.isRemade = false
        }
        return present.sorted().compactMap { records[$0]?.order }
    }

    /// A new process is about to be asked for the instance. False: it was destroyed meanwhile.
    mutating func beginRemaking(_ instance: UInt32) -> Bool {
        guard records[instance]?.isMade == true else { return false }
        records[instance]?.isRemade = true
        return true
    }

    /// The new process could not make the instance.
    mutating func giveUp(_ instance: UInt32) {
        leftovers.remove(instance)
        records[instance]?.isRemade = false
        records[instance]?.isMissing = true
    }

    /// The new process works from now on.
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

    /// The instance is told all that is kept for it.
    mutating func refresh(_ instance: UInt32) { records[instance]?.isStale = false }

    /// Something changes for the instance, which its process can hear of if it works. False: it misses the change.
    mutating func hears(_ instance: UInt32, isRunning: Bool) -> Bool {
        if isRunning, isPresent(instance) { return true }
        records[instance]?.isStale = true
        return false
    }
}

/// A plugin's instance as its process is asked to make it, again after each restart.
struct InstanceOrder: Sendable {
    /// How its process is asked, but for the state that is kept for it.
    var message: CreateMessage
    let host: any InstanceHost

    var number: UInt32 { message.instance }
    /// The number of its library in the process.
    var library: UInt32 { message.library }
}
