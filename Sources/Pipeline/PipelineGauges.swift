import Synchronization

/// What waits in a pipeline, for others to read at any time; as of its last batch.
package final class PipelineGauges: Sendable {
    private let devices = Atomic<Int>(0)
    private let events = Atomic<Int>(0)

    package init() {}

    /// Devices for which something is held back until their time comes.
    package var waitingDevices: Int { devices.load(ordering: .relaxed) }
    /// Events that wait for a name or a note.
    package var parkedEvents: Int { events.load(ordering: .relaxed) }

    func set(waitingDevices: Int, parkedEvents: Int) {
        devices.store(waitingDevices, ordering: .relaxed)
        events.store(parkedEvents, ordering: .relaxed)
    }
}
