import Foundation

/// The one thread that a pipeline lives on.
package final class PipelineThread: Sendable {
    private let finished = DispatchSemaphore(value: 0)

    /// Starts a thread that makes its pipeline and feeds it from `intake` until that is closed and empty.
    ///
    /// `waitForRoom` blocks while the outbox is full; sources then see no answers and read no more.
    package init(
        intake: Intake,
        waitForRoom: @escaping @Sendable () -> Void,
        pipeline: sending Pipeline
    ) {
        // The pipeline moves to its thread and is never seen by another again.
        nonisolated(unsafe) let pipeline = pipeline
        let finished = finished
        let thread = Thread {
            while let submissions = intake.next() {
                waitForRoom()
                pipeline.process(submissions)
            }
            finished.signal()
        }
        thread.name = "carillon-pipeline"
        thread.stackSize = 4 << 20
        thread.start()
    }

    /// Blocks until everything in the closed intake is processed. Once.
    package func join() {
        finished.wait()
    }
}
