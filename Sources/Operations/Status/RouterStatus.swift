import Console
import Core
import Delivery
import Foundation
import PluginHost
import Relays

/// A summary of a running router on one screen.
package struct RouterStatus: OperatorAnswer, Equatable {
    package struct Issue: Codable, Sendable, Equatable {
        package enum Severity: String, Codable, Sendable, CaseIterable { case error, warning }

        /// A code from a small fixed set.
        package var code: String
        package var message: String
        /// The same message as a code and values. The code is `code` or a variant of it.
        package var params: Statement?
        /// The fix: a command or a sentence.
        package var fix: String
        /// `error`: the issue stops pushes.
        package var severity: Severity
        /// The members that have the issue, separated by commas; `nil` without a cluster.
        package var member: String?
    }

    /// A summary of one member.
    package struct Member: Codable, Sendable, Equatable {
        package var name: String
        package var version: String
        /// Seconds.
        package var uptime: Int64
        package var waiting: Int
        package var failed: Int
        package var pushesPerSecond: Double
        package var issues: Int
    }

    /// The rate of the last minute, and the total since the start.
    package struct Flow: Codable, Sendable, Equatable {
        package var total: UInt64
        package var perSecond: Double
    }

    package struct Latency: Codable, Sendable, Equatable {
        /// Milliseconds from a delivery's acceptance to its final result, in the last minute; `nil` without deliveries.
        package var p50Ms: Int64?
        package var p99Ms: Int64?
    }

    package struct Waiting: Codable, Sendable, Equatable {
        package var deliveries: Int
        package var limit: Int
        /// The age of the oldest one since acceptance, in seconds.
        package var oldest: Int64?
        /// Dead letters, which can be requeued.
        package var failed: Int
    }

    package struct Queue: Codable, Sendable, Equatable {
        package var platform: String
        package var app: String
        /// `ok`, `paused`, or `failed` if the transport cannot start.
        package var state: String
        package var reason: String?
        /// The cause of the pause: `asked` by the push service, or `misconfigured` until the operator fixes it.
        package var cause: String?
        package var until: String?
        package var waiting: Int
        package var inFlight: Int
        package var retrying: Int
        /// The number of paused hosts. Users choose these hosts.
        package var pausedHosts: Int
    }

    package struct Relays: Codable, Sendable, Equatable {
        package var connected = 0
        package var connecting = 0
        package var waiting = 0
        package var idle = 0
    }

    package struct Filter: Codable, Sendable, Equatable {
        package var name: String
        /// The events that it suppressed for devices since the start.
        package var dropped: UInt64
    }

    package struct Credential: Codable, Sendable, Equatable {
        package var platform: String
        package var app: String
        package var what: String
        package var endsAt: String
        /// Full days until then; negative if it has expired.
        package var days: Int64
    }

    package struct Disk: Codable, Sendable, Equatable {
        /// The databases' size with their logs, in bytes.
        package var used: Int64
        /// Free bytes on the databases' disk.
        package var free: Int64
    }

    package var version: String
    package var startedAt: String
    /// Seconds.
    package var uptime: Int64
    package var issues: [Issue]
    package var events: Flow
    package var pushes: Flow
    package var latency: Latency
    package var waiting: Waiting
    package var queues: [Queue]
    package var relays: Relays
    package var filters: [Filter]
    package var plugins: [PluginOverview.Process]
    package var refusedPlugins: [String]
    package var credentials: [Credential]
    package var disk: Disk
    /// The members that responded; `nil` without a cluster.
    package var memberStatus: [Member]?
    /// The members asked; `nil` without a cluster.
    package var members: MembersAsked?

    /// 0: no problems; 1: minor problems; 2: a problem stops pushes.
    package var exitCode: Int32 { issues.contains { $0.severity == .error } ? 2 : issues.isEmpty ? 0 : 1 }

    package var text: String {
        var lines = [
            "Carillon \(version), up \(Self.span(uptime))",
            "",
            "events    \(Self.rate(events.perSecond))   \(events.total) since the start",
            "pushes    \(Self.rate(pushes.perSecond))   \(pushes.total) since the start\(latencyWords)",
            "waiting   \(waiting.deliveries) of \(waiting.limit)\(oldestWords)",
        ]
        if waiting.failed > 0 {
            lines.append("failed    \(waiting.failed) permanently; carillon queue list --failed shows them")
        }
        lines += [
            "relays    \(relayWords)",
            "plugins   \(pluginWords)",
            "disk      \(Self.size(disk.used)) used, \(Self.size(disk.free)) free",
            "",
        ]
        let rows = queues.map { queue in
            [
                "  \(queue.platform)/\(queue.app)", "\(queue.waiting)", "\(queue.inFlight)", "\(queue.retrying)",
                queue.stateWords,
            ]
        }
        lines += TextTable.lines([["QUEUE", "WAITING", "IN FLIGHT", "TO RETRY", "STATE"]] + rows)
        if let memberStatus {
            let rows = memberStatus.map { member in
                [
                    "  \(member.name)", member.version, Self.span(member.uptime), "\(member.waiting)",
                    "\(member.failed)",
                    Self.rate(member.pushesPerSecond).filter { $0 != " " }, "\(member.issues)",
                ]
            }
            let head = ["MEMBER", "VERSION", "UP", "WAITING", "FAILED", "PUSHES", "ISSUES"]
            lines += [""] + TextTable.lines([head] + rows)
        }
        if !filters.isEmpty {
            lines += ["", "filters   " + filters.map { "\($0.name) dropped \($0.dropped)" }.joined(separator: ", ")]
        }
        lines += [""] + issueLines
        return lines.joined(separator: "\n")
    }

    private var issueLines: [String] {
        guard !issues.isEmpty else { return ["No problems found."] }
        return issues.flatMap { issue in
            let place = issue.member.map { "\($0): " } ?? ""
            return ["\(issue.severity == .error ? "!!" : "! ") \(place)\(issue.message)", "   \(issue.fix)"]
        }
    }

    private var latencyWords: String {
        guard let p50 = latency.p50Ms, let p99 = latency.p99Ms else { return "" }
        return "   p50 \(p50) ms, p99 \(p99) ms"
    }

    private var oldestWords: String { waiting.oldest.map { ", the oldest since \(Self.span($0))" } ?? "" }

    private var relayWords: String {
        let parts = [
            (relays.connected, "connected"), (relays.connecting, "connecting"),
            (relays.waiting, "waiting to be tried again"),
        ]
        let words = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        return words.isEmpty ? "none" : words.joined(separator: ", ")
    }

    private var pluginWords: String {
        guard !plugins.isEmpty else { return "none" }
        let place = plugins.count == 1 ? "one process" : "\(plugins.count) processes"
        let others = plugins.filter { $0.state != "running" }
            .map { "\($0.plugins.joined(separator: ", ")) \($0.state)" }
        let states = others.isEmpty ? "" : "; " + others.joined(separator: "; ")
        return "\(plugins.reduce(0) { $0 + $1.plugins.count }) in \(place)\(states)"
    }

    private static func rate(_ perSecond: Double) -> String {
        (perSecond >= 100 ? "\(Int(perSecond.rounded()))" : "\((perSecond * 10).rounded() / 10)").padded(to: 7) + "/s"
    }

    static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7_200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
    }

    private static func size(_ bytes: Int64) -> String {
        bytes >= 10 << 30 ? "\(bytes >> 30) GiB" : bytes >= 10 << 20 ? "\(bytes >> 20) MiB" : "\(bytes >> 10) KiB"
    }
}

extension RouterStatus.Queue {
    /// The queue's state and its reason.
    fileprivate var stateWords: String {
        let reason = reason.map { " (\($0))" } ?? ""
        let end = until.map { " until \($0.minute)" } ?? ""
        let hosts = pausedHosts == 0 ? "" : ", \(pausedHosts) hosts of users are paused"
        return state + (state == "ok" ? "" : reason + end) + hosts
    }
}
