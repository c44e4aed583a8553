/// Learns how many events came to which end. Called once a batch, on the pipeline's thread.
package protocol PipelineObserver: Sendable {
    func record(_ counts: [PipelineStep: Int])
}
