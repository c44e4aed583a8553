import Core
import Synchronization

/// The owner of stored values.
package enum StateOwner: Hashable, Sendable {
    case transport(platform: String, app: String)
    case filter(String)

    /// A name that is unique among owners.
    package var name: String {
        switch self {
        // A platform's name has no slash.
        case .transport(let platform, let app): "transport/\(platform)/\(app)"
        case .filter(let name): "filter/\(name)"
        }
    }
}

/// Stores plugins' values across restarts of the router.
package protocol PluginStateStore: Sendable {
    /// Returns the stored values of an owner whose first instance is about to be created. It may wait for a disk.
    func load(_ owner: StateOwner) -> [StateEntry]
    /// Stores a change soon, in the order of the calls; an empty value removes the key. It must not block.
    func save(_ entry: StateEntry, of owner: StateOwner)
    /// Releases the owner's values, because its last instance is gone.
    func release(_ owner: StateOwner)
}

/// The stored values of plugins' instances. Instances with the same owner share them, as during a reload.
package final class PluginStates: Sendable {
    private struct Shared {
        let state: SharedState
        var users = 0
    }

    private let store: (any PluginStateStore)?
    private let owners = Mutex<[StateOwner: Shared]>([:])

    /// Default: no store, so that values are lost with the last instance of their owner.
    package init(_ store: (any PluginStateStore)? = nil) { self.store = store }

    /// Returns the values for an instance. ``InstanceValues/close()`` must follow.
    func open(_ owner: StateOwner) -> InstanceValues {
        let state = owners.withLock { owners in
            owners[owner, default: Shared(state: SharedState(owner, store))].users += 1
            return owners[owner]?.state
        }
        return InstanceValues(state ?? SharedState(owner, store)) { [self] in close(owner) }
    }

    private func close(_ owner: StateOwner) {
        owners.withLock { owners in
            guard let shared = owners[owner] else { return }
            owners[owner] = shared.users > 1 ? Shared(state: shared.state, users: shared.users - 1) : nil
            // Under the lock, so that it precedes the next `load`.
            if shared.users == 1 { store?.release(owner) }
        }
    }
}

/// One instance's access to its owner's stored values.
final class InstanceValues: Sendable {
    private let state: SharedState
    private let number: UInt64
    private let closing: @Sendable () -> Void
    private let isClosed = Atomic(false)

    fileprivate init(_ state: SharedState, closing: @escaping @Sendable () -> Void) {
        self.state = state
        self.closing = closing
        number = state.addInstance()
    }

    /// Returns all values, for a copy that `listener` keeps up to date.
    func copy(_ listener: @escaping StateChange.Listener) -> [StateEntry] { state.copy(for: number, listener) }

    /// Stores a change from the copy, with its number there.
    func take(_ entry: StateEntry, change: UInt64) {
        guard !isClosed.load(ordering: .relaxed) else { return }
        state.set(entry, by: number, change: change)
    }

    /// Sends all current values to the copy.
    func refresh() { state.refresh(number) }

    /// Releases the values after the instance has ended.
    func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        state.removeInstance(number)
        closing()
    }
}

/// The stored values of one owner, and their copies.
private final class SharedState: Sendable {
    private struct Copy {
        /// The last of the copy's changes that the values contain.
        var handled: UInt64 = 0
        let listener: StateChange.Listener
    }

    private struct State {
        /// Nil: not loaded yet.
        var values: StateValues?
        var copies: [UInt64: Copy] = [:]
        var last: UInt64 = 0
    }

    /// After this many changes, the router confirms to a copy which ones it has stored.
    private static let changesBetweenAnswers: UInt64 = 64

    private let owner: StateOwner
    private let store: (any PluginStateStore)?
    private let state = Mutex(State())

    init(_ owner: StateOwner, _ store: (any PluginStateStore)?) {
        self.owner = owner
        self.store = store
    }

    func addInstance() -> UInt64 {
        state.withLock { state in
            if state.values == nil { state.values = StateValues(store?.load(owner) ?? []) }
            state.last += 1
            return state.last
        }
    }

    func removeInstance(_ number: UInt64) { state.withLock { $0.copies[number] = nil } }

    func copy(for instance: UInt64, _ listener: @escaping StateChange.Listener) -> [StateEntry] {
        state.withLock { state in
            state.copies[instance] = Copy(listener: listener)
            return state.values?.entries ?? []
        }
    }

    /// Calls listeners under the lock, so that they receive changes in order.
    func set(_ entry: StateEntry, by instance: UInt64, change: UInt64) {
        state.withLock { state in
            let former = state.values?[entry.key] ?? []
            let isTaken = state.values?.set(entry) ?? false
            if isTaken, former != entry.value { store?.save(entry, of: owner) }
            state.copies[instance]?.handled = change
            if let copy = state.copies[instance], !isTaken || change % Self.changesBetweenAnswers == 0 {
                let undone = isTaken ? [] : [StateEntry(key: entry.key, value: former)]
                copy.listener(StateChange(entries: undone, handled: change))
            }
            guard isTaken, former != entry.value else { return }
            for (number, copy) in state.copies where number != instance {
                copy.listener(StateChange(entries: [entry], handled: copy.handled))
            }
        }
    }

    func refresh(_ instance: UInt64) {
        state.withLock { state in
            guard let copy = state.copies[instance] else { return }
            copy.listener(StateChange(entries: state.values?.entries ?? [], handled: copy.handled, isWhole: true))
        }
    }
}
