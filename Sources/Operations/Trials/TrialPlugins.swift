import Foundation
import PluginHost
import RouterConfiguration

/// Which plugins a trial is about.
enum TrialPlugins {
    static func search(_ order: TrialOrder) -> PluginSearch {
        if !order.pluginFolders.isEmpty { return PluginSearch(folders: order.pluginFolders) }
        if let plugins = order.configuration?.plugins {
            return PluginSearch(folders: plugins.folders, pins: plugins.pins)
        }
        return PluginSearch(folders: besideProgram)
    }

    /// The platforms to show, in the order they were named in.
    static func platforms(
        _ order: TrialOrder,
        configured: some Sequence<String>,
        host: PluginHost,
        folders: [String]
    ) throws(TrialFailure) -> [String] {
        let loaded = host.platforms
        guard !loaded.isEmpty else {
            throw TrialFailure(
                description: folders.isEmpty
                    ? "no plugins: plugins.folders of the configuration is empty; --plugins names a folder with some"
                    : "no plugins in \(folders.joined(separator: ", ")); --plugins names a folder with some"
            )
        }
        for platform in order.platforms where !loaded.contains(platform) {
            throw TrialFailure(
                description: "--platform: no plugin serves '\(platform)', only \(loaded.joined(separator: ", "))"
            )
        }
        if !order.platforms.isEmpty { return order.platforms }
        let wanted = loaded.filter(Set(configured).contains)
        return wanted.isEmpty ? loaded : wanted
    }

    private static var besideProgram: [String] {
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return []
        }
        return Configuration.pluginFolders(URL(filePath: program).deletingLastPathComponent().path)
    }
}
