import Logging
import PluginHost
import RouterConfiguration
import YAMLReading

/// The plugins that a command loads to know their platforms.
package struct CommandPlugins: Sendable {
    package let host: PluginHost
    /// Where they were looked for.
    package let folders: [String]

    /// Loads those in `folders`; where none are named, those of the configuration; and without a configuration those
    /// beside the program. This runs their code.
    ///
    /// Throws a mistake when the program is missing that runs them.
    package init(_ configuration: Configuration? = nil, folders: [String] = []) throws(Diagnostics) {
        var plugins = configuration?.plugins ?? Configuration.Plugins(folders: Configuration.pluginFoldersOfProgram)
        if !folders.isEmpty { (plugins.folders, plugins.pins) = (folders, [:]) }
        self.folders = plugins.folders
        host = try plugins.load(log: Logger(label: "carillon.plugins") { _ in SwiftLogNoOpLogHandler() })
    }

    package var platforms: KnownPlatforms { KnownPlatforms(host) }
}
