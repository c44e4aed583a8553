package import NIOCore

/// Runs tasks on an event loop, so that what they do between two waits takes no other thread and no change of threads.
///
/// What runs here must not block or compute for long: everything else on the loop waits for it.
package final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    package init(_ loop: any EventLoop) {
        self.loop = loop
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
