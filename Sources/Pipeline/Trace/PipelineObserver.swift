/// Learns how many events came to which end. Called once a batch, on the pipeline's thread: hand on, and return soon.
package protocol PipelineObserver: Sendable {
    func record(_ counts: [PipelineStep: Int])
    /// The steps of a batch that are worth keeping, in order; `time` is the batch's, in milliseconds since 1970. Not called
    /// for a batch that has none.
    func trace(_ steps: [TraceStep], at time: Int64)
}

extension PipelineObserver {
    package func trace(_ steps: [TraceStep], at time: Int64) {}
}
