import Synchronization

/// Counts what goes on at one of our own doors: connections that are open, and what clients were refused since the start. From
/// any thread.
package final class DoorCounts: Sendable {
    private let connections = Atomic<Int>(0)
    private let refusals: Mutex<[ClientLimit: UInt64]>

    /// `limits` are those that clients can meet at this door: each is there from the start.
    package init(_ limits: [ClientLimit] = []) {
        refusals = Mutex(limits.reduce(into: [:]) { $0[$1] = 0 })
    }

    package var openConnections: Int { connections.load(ordering: .relaxed) }

    /// How often each limit stood against a client.
    package var refused: [ClientLimit: UInt64] { refusals.withLock(\.self) }

    package func opened() {
        connections.add(1, ordering: .relaxed)
    }

    package func closed() {
        connections.subtract(1, ordering: .relaxed)
    }

    package func refused(by limit: ClientLimit) {
        refusals.withLock { $0[limit, default: 0] += 1 }
    }
}
