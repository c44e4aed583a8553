import Foundation

/// The one thread that a pipeline lives on.
package final class PipelineThread: Sendable {
    private let finished = DispatchSemaphore(value: 0)
    private let intake: Intake
    private let heartbeat: Heartbeat
    package let gauges: PipelineGauges

    /// Starts a thread that feeds `pipeline` from its intake until that is closed and empty.
    ///
    /// While `isFull` says that the outbox is, nothing is processed; sources then see no answers and read no more. A closed
    /// intake is emptied all the same, and nothing waits for context any longer.
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
            while let arrivals = intake.next(within: pipeline.patience) {
                pipeline.adopt(arrivals.settings)
                while isFull(), !intake.isClosed {
                    pipeline.heartbeat.beat()
                    Thread.sleep(forTimeInterval: 0.05)
                    // They may be what is to help.
                    pipeline.adopt(intake.takeSettings())
                }
                pipeline.process(arrivals)
            }
            pipeline.finish()
            finished.signal()
        }
        thread.name = "carillon-pipeline"
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Whether the thread comes round within `milliseconds`; waiting for room in the outbox is coming round too.
    package func comesRound(
        within milliseconds: Int64,
        pause: @Sendable () async throws -> Void = { try await Task.sleep(for: .milliseconds(20)) }
    ) async -> Bool {
        let before = heartbeat.count
        intake.nudge()
        let end = DispatchTime.now() + .milliseconds(Int(clamping: milliseconds))
        while heartbeat.count == before {
            guard DispatchTime.now() < end, (try? await pause()) != nil else { return false }
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
