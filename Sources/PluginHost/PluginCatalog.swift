/// What a search for plugins came to.
package struct PluginCatalog: Sendable {
    /// What loaded, in the order of folders and file names.
    package var plugins: [LoadedPlugin] = []
    /// What did not, and why; none of it keeps the rest from running.
    package var refusals: [PluginRefusal] = []
}
