import CarillonABI
import PluginServices

/// What changed for an instance elsewhere.
package struct StateChange: Sendable {
    /// With an empty value: the key is gone.
    package var entries: [StateEntry]
    /// The last own change of the instance that came before.
    package var handled: UInt64
    /// Whether `entries` are all that there is.
    package var isWhole: Bool

    package init(entries: [StateEntry], handled: UInt64, isWhole: Bool = false) {
        self.entries = entries
        self.handled = handled
        self.isWhole = isWhole
    }
}

/// Where the states of instances are kept, by the hosts of the instances.
package struct InstanceStates: Sendable {
    /// Receives changes in their order, one at a time; it must be quick.
    package typealias Listener = @Sendable (StateChange) -> Void

    /// All that is kept. From now on the listener receives what changes elsewhere, and none that was given before. Own
    /// changes are counted from 1 again.
    package var open: @Sendable (UnsafePointer<carillon_host>, @escaping Listener) -> [StateEntry]
    /// Keeps a change of the instance, under its number. One that is refused comes back to the listener.
    package var store: @Sendable (UnsafePointer<carillon_host>, StateEntry, UInt64) -> Void
    /// Gives the listener all that is kept now.
    package var refresh: @Sendable (UnsafePointer<carillon_host>) -> Void

    package init(
        open: @escaping @Sendable (UnsafePointer<carillon_host>, @escaping Listener) -> [StateEntry],
        store: @escaping @Sendable (UnsafePointer<carillon_host>, StateEntry, UInt64) -> Void,
        refresh: @escaping @Sendable (UnsafePointer<carillon_host>) -> Void
    ) {
        self.open = open
        self.store = store
        self.refresh = refresh
    }

    /// Nothing is kept.
    package static var none: InstanceStates {
        InstanceStates(open: { _, _ in [] }, store: { _, _, _ in }, refresh: { _ in })
    }
}
