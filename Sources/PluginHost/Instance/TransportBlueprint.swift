/// What instances of a transport are made from.
struct TransportBlueprint: Sendable {
    let pluginID: String
    let library: PluginLibrary
    let functions: TransportFunctions
}
