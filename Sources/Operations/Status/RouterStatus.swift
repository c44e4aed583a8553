import Console
import Core
import Delivery
import Foundation
import PluginHost
import Relays
import Storage

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

extension RouterStatus {
    /// Adds an issue for errors that the calling command finds in the configuration file.
    package mutating func add(_ mistakes: Diagnostics) {
        let more = mistakes.all.count > 1 ? "; and \(mistakes.all.count - 1) more" : ""
        let issue = Issue(
            code: "configuration-invalid",
            message: "\(mistakes.all.first.map { "\($0)" } ?? "the configuration cannot be read")\(more)",
            fix: "the router uses the previous configuration, and a restart would fail: correct the file "
                + "(carillon check lists every error), then run: carillon reload",
            severity: .warning
        )
        issues.insert(issue, at: 0)
    }
}

extension RouterStatus.Issue {
    /// `values` belong to the message; `code` selects the message if there are several.
    package init(
        _ code: String,
        kind: String? = nil,
        _ values: [String: String],
        message: String,
        fix: String,
        severity: Severity = .warning
    ) {
        let params = Statement(kind ?? code, values)
        self.init(code: code, message: message, params: params, fix: fix, severity: severity)
    }
}

/// The joined status of the cluster's members.
extension RouterStatus: JoinedAnswer {
    static func joined(_ members: [(member: String, answer: RouterStatus)], _ asked: MembersAsked) -> RouterStatus {
        var whole = members[0].answer
        for (_, other) in members.dropFirst() { whole.add(other) }
        let issues = issues(members) + asked.silent.map(\.issue)
        whole.issues = issues.filter { $0.severity == .error } + issues.filter { $0.severity == .warning }
        whole.memberStatus = members.map { name, status in
            Member(
                name: name,
                version: status.version,
                uptime: status.uptime,
                waiting: status.waiting.deliveries,
                failed: status.waiting.failed,
                pushesPerSecond: status.pushes.perSecond,
                issues: status.issues.count
            )
        }
        whole.members = asked
        return whole
    }

    private mutating func add(_ other: RouterStatus) {
        if other.version != version { version = [version, other.version].min() ?? version }
        // Counters run from the latest start, so all members cover at least that time.
        if other.uptime < uptime { (startedAt, uptime) = (other.startedAt, other.uptime) }
        events = events + other.events
        pushes = pushes + other.pushes
        latency = Latency(
            p50Ms: [latency.p50Ms, other.latency.p50Ms].compactMap(\.self).max(),
            p99Ms: [latency.p99Ms, other.latency.p99Ms].compactMap(\.self).max()
        )
        waiting = Waiting(
            deliveries: waiting.deliveries + other.waiting.deliveries,
            limit: waiting.limit + other.waiting.limit,
            oldest: [waiting.oldest, other.waiting.oldest].compactMap(\.self).max(),
            failed: waiting.failed + other.waiting.failed
        )
        queues = Self.merged(queues + other.queues, by: \.name, adding: { $0.add($1) })
        relays.connected += other.relays.connected
        relays.connecting += other.relays.connecting
        relays.waiting += other.relays.waiting
        relays.idle += other.relays.idle
        filters = Self.merged(filters + other.filters, by: \.name, adding: { $0.dropped += $1.dropped })
        plugins += other.plugins
        refusedPlugins = Self.merged(refusedPlugins + other.refusedPlugins, by: \.self, adding: { _, _ in })
        credentials = Self.merged(
            credentials + other.credentials,
            by: \.name,
            adding: { $0 = $1.days < $0.days ? $1 : $0 }
        )
        // Each member has its own disk. The one with the least free space fails first.
        disk = Disk(used: disk.used + other.disk.used, free: min(disk.free, other.disk.free))
    }

    /// Merges items with the same key. Keeps the order in which keys first occur.
    private static func merged<Item>(
        _ items: [Item],
        by key: (Item) -> String,
        adding add: (inout Item, Item) -> Void
    ) -> [Item] {
        var (places, merged): ([String: Int], [Item]) = ([:], [])
        for item in items {
            if let place = places[key(item)] {
                add(&merged[place], item)
            } else {
                places[key(item)] = merged.count
                merged.append(item)
            }
        }
        return merged
    }

    private static func issues(_ members: [(member: String, answer: RouterStatus)]) -> [Issue] {
        let all = members.flatMap { $1.issues.named($0, by: \.member) }
        let isFed = members.contains { $0.answer.issues.allSatisfy { $0.code != noSource } }
        return merged(all.filter { !isFed || $0.code != noSource }, by: \.name, adding: { $0.add($1) })
    }

    /// An event that reaches one member reaches all.
    private static let noSource = "no-source"
}

extension RouterStatus.Flow {
    fileprivate static func + (left: Self, right: Self) -> Self {
        Self(total: left.total + right.total, perSecond: left.perSecond + right.perSecond)
    }
}

extension RouterStatus.Issue {
    /// The key that the same issue has in all members.
    fileprivate var name: String { "\(code) \(message)" }

    fileprivate mutating func add(_ other: Self) {
        member = [member, other.member].compactMap(\.self).joined(separator: ", ")
        if other.severity == .error { severity = .error }
    }
}

extension RouterStatus.Credential {
    fileprivate var name: String { "\(platform)/\(app)/\(what)" }
}

extension RouterStatus.Queue {
    fileprivate var name: String { "\(platform)/\(app)" }

    /// Adds the same queue of another member. Keeps the worse state.
    fileprivate mutating func add(_ other: Self) {
        waiting += other.waiting
        inFlight += other.inFlight
        retrying += other.retrying
        pausedHosts += other.pausedHosts
        if state == "ok" || (state == "paused" && other.state == "failed") {
            (state, reason, until) = (other.state, other.reason, other.until)
            cause = other.cause
        }
    }
}

extension MembersAsked.Silent {
    fileprivate var issue: RouterStatus.Issue {
        let params = says.flatMap { MemberSilence.codes.contains($0.code) ? $0 : nil }
        return RouterStatus.Issue(
            code: "member-silent",
            message: "the member \(name) \(reason); its data is missing here",
            params: params ?? Statement("member-silent", ["member": name, "detail": reason]),
            fix: "check its log and its connection to NATS; carillon cluster members shows the partitions' owners",
            severity: .warning,
            member: name
        )
    }
}
