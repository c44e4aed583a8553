import Logging
import Notifications
import PluginHost
import RouterConfiguration
import YAMLReading

/// The plugins in the configured folders, for a person to read.
package struct PluginListing {
    private let catalog: PluginCatalog
    private let folders: [String]
    /// Of a running router; nil where none was asked.
    private let processes: PluginOverview?

    /// Loads the plugins, which runs their code. `processes` is what a running router says about its own.
    ///
    /// Throws a mistake when the program is missing that runs them.
    package init(_ plugins: Configuration.Plugins, processes: PluginOverview? = nil) throws(Diagnostics) {
        folders = plugins.folders
        self.processes = processes
        catalog = try plugins.load(log: Logger(label: "carillon.plugins") { _ in SwiftLogNoOpLogHandler() }).catalog
    }

    package var hasRefusals: Bool { !catalog.refusals.isEmpty }

    package var text: String {
        var lines: [String] = []
        for plugin in catalog.plugins {
            lines.append("\(plugin.id) \(plugin.version)")
            for platform in plugin.platforms { lines.append("    platform   \(plugin.label(of: platform))") }
            for filter in plugin.filters { lines.append("    filter     \(Self.line(of: filter))") }
            lines.append("    file       \(plugin.path)")
            lines.append("    sha256     \(plugin.sha256)")
            lines.append("    abi        1.\(plugin.abiMinor)")
        }
        lines += catalog.refusals.map { "refused \($0.path)\n    \($0.reason)" }
        if lines.isEmpty {
            lines = [
                "no plugins in \(folders.isEmpty ? "the configuration: plugins.folders is empty" : folders.joined(separator: ", "))"
            ]
        }
        if let processes, !processes.processes.isEmpty {
            lines.append("processes of the running router")
            lines += processes.lines.map { "    " + $0 }
        }
        return lines.joined(separator: "\n")
    }

    /// Its name and what it has to know.
    private static func line(of filter: LoadedFilter) -> String {
        var wishes =
            filter.wantedKinds.isEmpty
            ? [] : ["reads kind \(filter.wantedKinds.map { "\($0)" }.joined(separator: ", "))"]
        switch filter.mostNeeded {
        case .nothing: break
        case .followed: wishes.append("asks whom recipients follow")
        case .distance: wishes.append("may ask about follows of those that recipients follow")
        }
        if filter.isAskedAfterRendering { wishes.append("sees notifications and may change them") }
        return filter.name + (wishes.isEmpty ? "" : " (\(wishes.joined(separator: "; ")))")
    }
}
