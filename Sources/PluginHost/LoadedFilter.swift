import Notifications

/// A filter that a loaded plugin offers.
package struct LoadedFilter: Sendable, Hashable {
    /// What the configuration calls it.
    package var name: String
    /// The replaceable events of a recipient that it looks at, ascending.
    package var wantedKinds: [UInt16]
    /// What it may have to know of whom the recipient follows.
    package var mostNeeded: FollowNeed
    /// Whether it is asked with the notification, once that is made.
    package var isAskedAfterRendering: Bool

    init(_ functions: FilterFunctions) {
        name = functions.name
        wantedKinds = functions.wantedKinds
        mostNeeded = functions.mostNeeded
        isAskedAfterRendering = functions.isAskedAfterRendering
    }
}
