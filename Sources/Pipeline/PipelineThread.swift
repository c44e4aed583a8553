import Foundation
import Synchronization
import Units

/// The one thread that a pipeline lives on.
package final class PipelineThread: Sendable {
    private static let patienceForOwners: Duration = .seconds(3)

    private let finished = DispatchSemaphore(value: 0)
    private let intake: Intake
    private let heartbeat: PipelineProgress
    package let gauges: PipelineGauges

    /// Starts a thread that feeds `pipeline` from its intake until that is closed and empty.
    ///
    /// While the outbox is full, by `isFull`, nothing is processed; sources then get no answers and stop reading. A
    /// closed intake is emptied all the same, and nothing waits for context any longer.
    package init(
        isFull: @escaping @Sendable () -> Bool,
        pipeline: sending Pipeline
    ) {
        // The pipeline moves to its thread and is never seen by another again.
        nonisolated(unsafe) let pipeline = pipeline
        let finished = finished
        let intake = pipeline.intake
        self.intake = intake
        heartbeat = pipeline.heartbeat
        gauges = pipeline.gauges
        let thread = Thread {
            var following: Arrivals?
            while let arrivals = following ?? intake.next(within: pipeline.patience) {
                pipeline.adopt(arrivals.settings)
                while isFull(), !intake.isClosed {
                    pipeline.heartbeat.beat()
                    Thread.sleep(forTimeInterval: 0.05)
                    // They may be what is to help.
                    pipeline.adopt(intake.takeSettings())
                }
                following = intake.nextPortion()
                pipeline.process(arrivals, before: following)
            }
            // What is on its way to other owners mostly ends within milliseconds.
            let deadline = Deadline.now() + Self.patienceForOwners
            while pipeline.awaitsOwners, Deadline.now() < deadline {
                Thread.sleep(forTimeInterval: 0.02)
                if let arrivals = intake.next() { pipeline.process(arrivals) }
            }
            pipeline.finish()
            finished.signal()
        }
        // The system takes 15 characters, and leaves a thread with a longer name without one.
        thread.name = "carillon-events"
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Whether the thread comes round within `patience`; waiting for the outbox is coming round too.
    package func comesRound(
        within patience: Duration,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .milliseconds(20)) }
    ) async -> Bool {
        let before = heartbeat.count
        intake.nudge()
        let end = Deadline.now() + patience
        while heartbeat.count == before {
            guard Deadline.now() < end, (try? await pause()) != nil else { return false }
        }
        return true
    }

    /// Returns when everything in the closed intake is processed. Once.
    package func join() async {
        // Not on the caller's thread: there may be no other one for what the pipeline waits for.
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [finished] in
                finished.wait()
                continuation.resume()
            }
        }
    }
}

/// How much waits in a pipeline as of its last batch, for other threads to read.
package final class PipelineGauges: Sendable {
    private let devices = Atomic<Int>(0)
    private let events = Atomic<Int>(0)

    package init() {}

    /// Devices for which something is held back until their time comes.
    package var waitingDevices: Int { devices.load(ordering: .relaxed) }
    /// Events that wait for a name or a note.
    package var waitingEvents: Int { events.load(ordering: .relaxed) }

    func set(waitingDevices: Int, waitingEvents: Int) {
        devices.store(waitingDevices, ordering: .relaxed)
        events.store(waitingEvents, ordering: .relaxed)
    }
}

/// How often the pipeline's thread has come round. One that stands still while there is work is stuck.
package final class PipelineProgress: Sendable {
    private let beats = Atomic<UInt64>(0)

    package init() {}

    package var count: UInt64 { beats.load(ordering: .relaxed) }

    package func beat() {
        beats.add(1, ordering: .relaxed)
    }
}
