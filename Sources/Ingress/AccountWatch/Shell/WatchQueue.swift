import Dispatch

/// A serial queue on which an ``AccountWatch`` works.
package struct WatchQueue: Sendable {
    private let queue = DispatchQueue(label: "carillon account watch", qos: .utility)

    package init() {}

    /// Runs `action` once, after so many milliseconds.
    package func schedule(_ milliseconds: Int64, _ action: @escaping @Sendable () -> Void) {
        queue.asyncAfter(deadline: .now() + .milliseconds(Int(max(0, milliseconds))), execute: action)
    }
}
