import Console
import Foundation
import Logging
import PluginHost
import Push
import RouterConfiguration
import Storage

/// The state of the plugin processes, and the rejected plugins.
package struct PluginOverview: OperatorAnswer, JoinedAnswer, Equatable {
    /// A plugin process.
    package struct Process: Codable, Sendable, Equatable {
        /// The file names of its plugins.
        package var plugins: [String]
        /// `running`, `restarting`, or `paused` if it crashed too often and is restarted once a minute.
        package var state: String
        /// The process ID; nil if there is no process.
        package var process: Int32?
        /// The number of crashes since the router started.
        package var crashes: Int
        /// A line about the last crash.
        package var lastCrash: String?
        /// Deliveries that ended as `plugin-crashed`.
        package var abandoned: Int
        /// The sandbox's mechanisms; empty if there is none.
        package var confinement: String
        /// The member that runs the process; nil if the router is not in a cluster.
        package var member: String?

        /// The lines for an operator.
        var lines: [String] {
            let confined = confinement.isEmpty ? "not confined" : "confined: \(confinement)"
            let place = member.map { "\($0) " } ?? ""
            var lines = ["\(place)\(process.map { "\($0) " } ?? "")\(state); \(confined)"]
            lines.append("    plugins    \(plugins.joined(separator: ", "))")
            if crashes > 0 { lines.append("    ended      \(crashes == 1 ? "once" : "\(crashes) times")") }
            if let lastCrash { lines.append("    last       \(lastCrash)") }
            if abandoned > 0 {
                lines.append(
                    "    abandoned  \(abandoned == 1 ? "1 delivery" : "\(abandoned) deliveries"), as plugin-crashed"
                )
            }
            return lines
        }
    }

    package var processes: [Process]
    /// The path and the reason of each rejected plugin.
    package var refused: [String]
    /// The members that were asked; nil if the router is not in a cluster.
    package var members: MembersAsked?

    package init(_ reports: [PluginProcessReport], refusals: [PluginLoadError]) {
        processes = reports.map { Process($0) }
        refused = refusals.map { "\($0.path): \($0.reason)" }
    }

    /// Asks the router that runs on this configuration; nil if none responds.
    package init?(ofRouterOn configuration: Configuration) async {
        guard let found: Self = try? await APIClient(configuration: configuration).answer("GET", "/v1/plugins") else {
            return nil
        }
        self = found
    }

    /// The processes for people: the plugins and the state of each.
    var lines: [String] { processes.flatMap(\.lines) }

    package var text: String {
        (lines + refused.map { "refused \($0)" } + (members?.lines ?? [])).joined(separator: "\n")
    }

    static func joined(
        _ overviews: [(member: String, answer: PluginOverview)],
        _ members: MembersAsked
    ) -> PluginOverview {
        var whole = PluginOverview([], refusals: [])
        for (member, overview) in overviews {
            whole.processes += overview.processes.named(member, by: \.member)
            whole.refused += overview.refused.map { "\(member): \($0)" }
        }
        whole.members = members
        return whole
    }
}

extension PluginOverview.Process {
    init(_ report: PluginProcessReport) {
        plugins = report.plugins
        state = report.state.word
        process = report.process
        crashes = report.crashes
        lastCrash = report.lastCrash
        abandoned = report.abandoned
        confinement = report.confinement
    }
}

extension PluginProcessReport.State {
    /// The state as one word, for people and metrics.
    var word: String {
        switch self {
        case .running: "running"
        case .restarting: "restarting"
        case .pausing: "paused"
        }
    }
}

extension MetricFamily {
    /// Plugins that share a process have the same values.
    static func processes(_ reports: [PluginProcessReport]) -> [MetricFamily] {
        let all = reports.flatMap { report in report.plugins.map { (plugin: $0, report: report) } }
        return [
            gauge(
                "carillon_plugin_process_state",
                "State of a plugin's process: 1 for its current state.",
                of: all
            ) { family, each in
                for state in [PluginProcessReport.State.running, .restarting, .pausing] {
                    family.add(each.report.state == state ? 1 : 0, ["plugin": each.plugin, "state": state.word])
                }
            },
            counter(
                "carillon_plugin_process_crashes_total",
                "Crashes of a plugin's process; plugins that share a process have the same value.",
                of: all
            ) { $0.add($1.report.crashes, ["plugin": $1.plugin]) },
            counter(
                "carillon_plugin_deliveries_abandoned_total",
                "Deliveries that were rejected because the plugin's process crashed on them twice.",
                of: all
            ) { $0.add($1.report.abandoned, ["plugin": $1.plugin]) },
        ]
    }
}

/// The plugins in the configured directories, for people.
package struct PluginListing {
    private let catalog: PluginCatalog
    private let folders: [String]
    /// The running router's processes; nil if no router was asked.
    private let processes: PluginOverview?

    /// Loads the plugins, which runs their code. `processes` is from a running router.
    ///
    /// Throws an error if the program that runs plugins is missing.
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

    /// Returns the filter's name and the data that it needs.
    private static func line(of filter: LoadedFilter) -> String {
        var wishes =
            filter.wantedKinds.isEmpty
            ? [] : ["reads kind \(filter.wantedKinds.map { "\($0)" }.joined(separator: ", "))"]
        switch filter.maxNeeded {
        case .nothing: break
        case .followed: wishes.append("needs the follows of recipients")
        case .distance: wishes.append("may need the follows of accounts that recipients follow")
        }
        if filter.isAskedAfterRendering { wishes.append("sees notifications and may change them") }
        return filter.name + (wishes.isEmpty ? "" : " (\(wishes.joined(separator: "; ")))")
    }
}
