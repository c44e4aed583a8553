import Core
import Dispatch
import Logging
import PluginHost
import Registry
import Synchronization

/// Stores plugins' data: writes it to the registry's database, many changes in one transaction, off the plugins'
/// threads.
final class PluginStateKeeper: PluginStateStore {
    private struct State {
        /// Unwritten changes, by owner and key.
        var pending: [StateOwner: [[UInt8]: [UInt8]]] = [:]
        /// Owners that have instances.
        var inUse: Set<StateOwner> = []
        var isWriteDue = false

        mutating func add(_ entry: StateEntry, of owner: StateOwner) {
            pending[owner, default: [:]][entry.key] = entry.value
        }
    }

    /// The delay before a write; plugins are promised at most a second.
    private static let delay: Duration = .milliseconds(500)
    /// The time after the start by which all instances exist.
    private static let firstUpkeep: Duration = .minutes(1)
    private static let upkeepInterval: Duration = .days(1)

    private let table: PluginStateTable
    private let now: @Sendable () -> Timestamp
    private let logger: Logger
    private let queue = DispatchQueue(label: "carillon.plugin.states")
    private let state = Mutex(State())

    init(_ table: PluginStateTable, now: @escaping @Sendable () -> Timestamp, logger: Logger) {
        self.table = table
        self.now = now
        self.logger = logger
        keepUp(after: Self.firstUpkeep)
    }

    // MARK: Instances

    func load(_ owner: StateOwner) -> [StateEntry] {
        state.withLock { _ = $0.inUse.insert(owner) }
        // When this runs, every change is either on disk or still pending.
        return queue.sync {
            var values: [[UInt8]: [UInt8]] = [:]
            do {
                let (entries, unreadable) = try table.entries(of: owner.name)
                for entry in entries { values[entry.key] = entry.value }
                if unreadable > 0 {
                    logger.error(
                        "A plugin's saved state is damaged",
                        metadata: ["owner": "\(owner.name)", "lost": "\(unreadable)"]
                    )
                }
            } catch {
                logger.error(
                    "Failed to read a plugin's saved state",
                    metadata: ["owner": "\(owner.name)", "error": "\(error)"]
                )
            }
            values.merge(state.withLock { $0.pending[owner] ?? [:] }) { $1 }
            return values.map { StateEntry(key: $0.key, value: $0.value) }.filter { !$0.value.isEmpty }
        }
    }

    func save(_ entry: StateEntry, of owner: StateOwner) {
        let isFirst = state.withLock { state in
            state.add(entry, of: owner)
            defer { state.isWriteDue = true }
            return !state.isWriteDue
        }
        if isFirst { writeSoon() }
    }

    func release(_ owner: StateOwner) { state.withLock { _ = $0.inUse.remove(owner) } }

    // MARK: The disk

    /// Writes all pending changes, and waits for that.
    func flush() { queue.sync { write() } }

    private func writeSoon() {
        let delay = Int(clamping: Self.delay.milliseconds)
        queue.asyncAfter(deadline: .now() + .milliseconds(delay)) { [weak self] in self?.write() }
    }

    /// Runs on the queue. Failed writes are retried.
    private func write() {
        let pending = state.withLock { state in
            state.isWriteDue = false
            defer { state.pending = [:] }
            return state.pending
        }
        guard !pending.isEmpty else { return }
        let changes = pending.flatMap { owner, values in
            values.map { PluginStateTable.Change(owner: owner.name, entry: StateEntry(key: $0, value: $1)) }
        }
        do {
            try table.write(changes, now: now())
        } catch {
            logger.error("Failed to save plugin state", metadata: ["error": "\(error)"])
            let isFirst = state.withLock { state in
                for (owner, values) in pending {
                    state.pending[owner, default: [:]].merge(values) { newer, _ in newer }
                }
                defer { state.isWriteDue = true }
                return !state.isWriteDue
            }
            if isFirst { writeSoon() }
        }
    }

    private func keepUp(after span: Duration) {
        queue.asyncAfter(deadline: .now() + .seconds(Int(clamping: span.seconds))) { [weak self] in
            guard let self else { return }
            do {
                try table.forgetUnused(but: state.withLock { $0.inUse.map(\.name) }, now: now())
            } catch {
                logger.error("Failed to remove old plugin state", metadata: ["error": "\(error)"])
            }
            keepUp(after: Self.upkeepInterval)
        }
    }
}
