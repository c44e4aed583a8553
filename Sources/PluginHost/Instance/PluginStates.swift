import PluginIsolation
import PluginServices
import Synchronization

/// To whom what is kept belongs.
package enum StateOwner: Hashable, Sendable {
    case transport(platform: String, app: String)
    case filter(String)

    /// A name that no other owner has.
    package var name: String {
        switch self {
        // A platform's name has no slash.
        case .transport(let platform, let app): "transport/\(platform)/\(app)"
        case .filter(let name): "filter/\(name)"
        }
    }
}

/// Keeps what plugins store beyond the end of the router.
package protocol PluginStateStore: Sendable {
    /// What is kept for an owner whose first instance is about to be made. It may wait for a disk.
    func load(_ owner: StateOwner) -> [StateEntry]
    /// Keeps a change soon, in the order of the calls; an empty value removes the key. It must not wait.
    func save(_ entry: StateEntry, of owner: StateOwner)
    /// The owner's last instance is gone.
    func release(_ owner: StateOwner)
}

/// What the plugins' instances keep. Those of one owner, as during a reload, have the same.
package final class PluginStates: Sendable {
    private struct Shared {
        let state: SharedState
        var users = 0
    }

    private let store: (any PluginStateStore)?
    private let owners = Mutex<[StateOwner: Shared]>([:])

    /// Without a store everything is forgotten with the last instance of its owner.
    package init(_ store: (any PluginStateStore)? = nil) { self.store = store }

    /// What is kept for an instance. ``InstanceValues/close()`` must follow.
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
            // Under the lock, so that it does not come after the next `load`.
            if shared.users == 1 { store?.release(owner) }
        }
    }
}

/// What one instance has of what is kept for its owner.
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

    /// Nil: nothing is kept under that key.
    func value(of key: [UInt8]) -> [UInt8]? { isClosed.load(ordering: .relaxed) ? nil : state.value(of: key) }

    /// Keeps a value. False: it is beyond a limit, or the instance has ended.
    func set(_ entry: StateEntry) -> Bool {
        !isClosed.load(ordering: .relaxed) && state.set(entry, by: number, change: 0)
    }

    /// All that is kept, for a copy that `listener` keeps up to date.
    func copy(_ listener: @escaping InstanceStates.Listener) -> [StateEntry] { state.copy(for: number, listener) }

    /// Keeps a change that was made in the copy, under its number there.
    func take(_ entry: StateEntry, change: UInt64) {
        guard !isClosed.load(ordering: .relaxed) else { return }
        _ = state.set(entry, by: number, change: change)
    }

    /// Gives the copy all that is kept now.
    func refresh() { state.refresh(number) }

    /// The instance has ended.
    func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        state.removeInstance(number)
        closing()
    }
}

/// What is kept for one owner, and the copies of it.
private final class SharedState: Sendable {
    private struct Copy {
        /// The last change made in the copy that is in the values.
        var handled: UInt64 = 0
        let listener: InstanceStates.Listener
    }

    private struct State {
        /// Nil: not loaded yet.
        var values: StateValues?
        var copies: [UInt64: Copy] = [:]
        var last: UInt64 = 0
    }

    /// A copy forgets which of its changes are new after so many.
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

    func value(of key: [UInt8]) -> [UInt8]? { state.withLock { $0.values?[key] } }

    func copy(for instance: UInt64, _ listener: @escaping InstanceStates.Listener) -> [StateEntry] {
        state.withLock { state in
            state.copies[instance] = Copy(listener: listener)
            return state.values?.entries ?? []
        }
    }

    /// Listeners are called under the lock, for they receive changes in their order.
    func set(_ entry: StateEntry, by instance: UInt64, change: UInt64) -> Bool {
        state.withLock { state in
            let former = state.values?[entry.key] ?? []
            let isTaken = state.values?.set(entry) ?? false
            if isTaken, former != entry.value { store?.save(entry, of: owner) }
            state.copies[instance]?.handled = change
            if let copy = state.copies[instance], !isTaken || change % Self.changesBetweenAnswers == 0 {
                let undone = isTaken ? [] : [StateEntry(key: entry.key, value: former)]
                copy.listener(StateChange(entries: undone, handled: change))
            }
            guard isTaken, former != entry.value else { return isTaken }
            for (number, copy) in state.copies where number != instance {
                copy.listener(StateChange(entries: [entry], handled: copy.handled))
            }
            return true
        }
    }

    func refresh(_ instance: UInt64) {
        state.withLock { state in
            guard let copy = state.copies[instance] else { return }
            copy.listener(StateChange(entries: state.values?.entries ?? [], handled: copy.handled, isWhole: true))
        }
    }
}
