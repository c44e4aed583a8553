import Synchronization

/// How often a thread has come round: one that others see standing still while there is work is stuck.
package final class Heartbeat: Sendable {
    private let beats = Atomic<UInt64>(0)

    package init() {}

    /// How often it beat so far.
    package var count: UInt64 { beats.load(ordering: .relaxed) }

    package func beat() {
        beats.add(1, ordering: .relaxed)
    }
}
