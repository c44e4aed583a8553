/// Other settings for a pipeline that runs.
package struct SettingsChange: Sendable {
    package let settings: PipelineSettings
    /// Called once, on the pipeline's thread, when they are in force or could not be put in force.
    package let completion: @Sendable (Result<Void, any Error>) -> Void
}
