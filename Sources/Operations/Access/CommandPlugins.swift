import Foundation
import Logging
import PluginHost
import RouterConfiguration

/// The plugins that a command loads to know their platforms.
package struct CommandPlugins: Sendable {
    package let host: PluginHost
    /// Where they were looked for.
    package let folders: [String]

    /// Loads those in `folders`; where none are named, those of the configuration; and without a configuration those
    /// beside the program. This runs their code.
    package init(_ configuration: Configuration? = nil, folders: [String] = []) {
        let search =
            if !folders.isEmpty {
                PluginSearch(folders: folders)
            } else if let plugins = configuration?.plugins {
                PluginSearch(folders: plugins.folders, pins: plugins.pins)
            } else {
                PluginSearch(folders: Self.besideProgram)
            }
        self.folders = search.folders
        host = PluginHost(loading: search, log: Logger(label: "carillon.plugins") { _ in SwiftLogNoOpLogHandler() })
    }

    package var platforms: KnownPlatforms { KnownPlatforms(host) }

    private static var besideProgram: [String] {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return []
        }
        return Configuration.pluginFolders(URL(filePath: program).deletingLastPathComponent().path)
    }
}
