import Console
import Foundation
import PluginHost
import PluginIsolation
import RouterConfiguration

/// How the processes are doing that plugins run in, and which plugins were refused.
package struct PluginOverview: OperatorAnswer, Equatable {
    /// One process.
    package struct Process: Codable, Sendable, Equatable {
        /// The file names of the plugins in it.
        package var plugins: [String]
        /// `running`, `restarting`, or `paused` where it has ended too often and is tried once a minute.
        package var state: String
        /// Its number; nil while there is none.
        package var process: Int32?
        /// How often it has ended since the router started.
        package var deaths: Int
        /// What is known about the last time, in one line.
        package var lastDeath: String?
        /// Deliveries that ended as `plugin-crashed`.
        package var setAside: Int
        /// What confines it; empty: nothing does.
        package var confinement: String
        /// The member of the cluster that it is of; nil: the router serves alone.
        package var member: String?

        /// What an operator has to know.
        var lines: [String] {
            let confined = confinement.isEmpty ? "not confined" : "confined: \(confinement)"
            let place = member.map { "\($0) " } ?? ""
            var lines = ["\(place)\(process.map { "\($0) " } ?? "")\(state); \(confined)"]
            lines.append("    plugins    \(plugins.joined(separator: ", "))")
            if deaths > 0 { lines.append("    ended      \(deaths == 1 ? "once" : "\(deaths) times")") }
            if let lastDeath { lines.append("    last       \(lastDeath)") }
            if setAside > 0 {
                lines.append(
                    "    set aside  \(setAside == 1 ? "1 delivery" : "\(setAside) deliveries"), as plugin-crashed"
                )
            }
            return lines
        }
    }

    package var processes: [Process]
    /// Each with its path and the reason.
    package var refused: [String]
    /// Who was asked; nil: the router serves alone.
    package var members: MembersAsked?

    package init(_ reports: [PluginProcessReport], refusals: [PluginRefusal]) {
        processes = reports.map { Process($0) }
        refused = refusals.map { "\($0.path): \($0.reason)" }
    }

    /// Those of the router that runs on this configuration; nil where none does, or it has no API.
    package init?(ofRouterOn configuration: Configuration) async {
        let client = try? APIClient(configuration: configuration)
        guard let answer = try? await client?.ask("GET", "/v1/plugins"), answer.status == 200 else { return nil }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let found = try? decoder.decode(Self.self, from: Data(answer.body.utf8)) else { return nil }
        self = found
    }

    /// The processes for a person: each with what is in it and how it is doing.
    var lines: [String] { processes.flatMap(\.lines) }

    package var text: String {
        (lines + refused.map { "refused \($0)" } + (members?.lines ?? [])).joined(separator: "\n")
    }

    /// Those of all members.
    static func together(
        _ overviews: [(member: String, answer: PluginOverview)],
        _ members: MembersAsked
    ) -> PluginOverview {
        var whole = PluginOverview([], refusals: [])
        for (member, overview) in overviews {
            whole.processes += overview.processes.map { process in
                var process = process
                process.member = member
                return process
            }
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
        deaths = report.deaths
        lastDeath = report.lastDeath
        setAside = report.setAside
        confinement = report.confinement
    }
}

extension PluginProcessReport.State {
    /// In one word, for people and metrics.
    var word: String {
        switch self {
        case .running: "running"
        case .restarting: "restarting"
        case .pausing: "paused"
        }
    }

    fileprivate static let all: [PluginProcessReport.State] = [.running, .restarting, .pausing]
}

extension MetricFamily {
    /// Plugins that share a process have the same figures.
    static func processes(_ reports: [PluginProcessReport]) -> [MetricFamily] {
        var state = MetricFamily(
            "carillon_plugin_process_state",
            .gauge,
            "How the process of a plugin is: 1 for the state that it is in."
        )
        var deaths = MetricFamily(
            "carillon_plugin_process_deaths_total",
            .counter,
            "How often the process of a plugin ended; of a shared one each of its plugins tells."
        )
        var setAside = MetricFamily(
            "carillon_plugin_deliveries_set_aside_total",
            .counter,
            "Deliveries that ended as rejected, as the plugin's process ended twice on them."
        )
        for report in reports {
            for plugin in report.plugins {
                for each in PluginProcessReport.State.all {
                    state.add(report.state == each ? 1 : 0, ["plugin": plugin, "state": each.word])
                }
                deaths.add(report.deaths, ["plugin": plugin])
                setAside.add(report.setAside, ["plugin": plugin])
            }
        }
        return [state, deaths, setAside]
    }
}
