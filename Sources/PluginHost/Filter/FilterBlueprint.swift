/// What instances of a filter are made from.
struct FilterBlueprint: Sendable {
    let pluginID: String
    let library: PluginLibrary
    let functions: FilterFunctions
}
