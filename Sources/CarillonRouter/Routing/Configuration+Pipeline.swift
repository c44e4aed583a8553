import Operations
import Pipeline
import PluginHost
import RouterConfiguration
import Rules

extension Configuration {
    /// What the pipeline goes by.
    func pipelineSettings(_ rules: RuleBook, _ filters: Filters, plugins: PluginHost) -> PipelineSettings {
        PipelineSettings(
            rules: rules,
            filters: filters.all,
            defaultMode: defaultMode,
            encryptingPlatforms: plugins.encryptingPlatforms,
            showingPlatforms: plugins.showingPlatforms,
            contextWait: context.waitMilliseconds,
            contextPath: contextPath,
            usesContext: context.isOn,
            pacing: pacing
        )
    }
}
