import Console
import Core
import Delivery
import Dispatch
import HTTPClient
import JSON
import NIOCore
import Nostr
import Pipeline
import PluginHost
import Push
import Registry
import Relays
import Storage
import Synchronization

/// The parts of a running router that receive events and registrations, for status and health checks.
package struct IncomingParts: Sendable {
    let pipeline: PipelineThread
    let intake: Intake
    let pool: RelayPool
    let counts: RouterCounts
    let listeners: ListenerCounts
    let keys: DeviceKeyCounts
    let registry: Registry

    package init(
        pipeline: PipelineThread,
        intake: Intake,
        pool: RelayPool,
        counts: RouterCounts,
        listeners: ListenerCounts,
        keys: DeviceKeyCounts
    ) {
        (self.pipeline, self.intake, self.pool) = (pipeline, intake, pool)
        (self.counts, self.listeners, self.keys, registry) = (counts, listeners, keys, keys.registry)
    }
}

/// The parts of a running router that send pushes, for status and health checks.
package struct OutgoingParts: Sendable {
    let courier: Courier
    let outbox: Outbox
    let transports: ActiveTransports
    let plugins: PluginHost
    let lanes: HTTPLanes

    package init(
        courier: Courier,
        outbox: Outbox,
        transports: ActiveTransports,
        plugins: PluginHost,
        lanes: HTTPLanes
    ) {
        (self.courier, self.outbox, self.transports) = (courier, outbox, transports)
        (self.plugins, self.lanes) = (plugins, lanes)
    }
}

/// The health of a running router: whether its essential parts respond, and which problems it has.
///
/// `/healthz` and systemd's watchdog check for stuck parts. `/readyz` checks for every problem that stops all pushes.
package struct RouterHealth: Sendable {
    let incoming: IncomingParts
    let outgoing: OutgoingParts
    private let storePath: String
    private let group: any EventLoopGroup
    private let facts: @Sendable () -> HealthFacts

    package init(
        _ incoming: IncomingParts,
        _ outgoing: OutgoingParts,
        storePath: String,
        group: any EventLoopGroup,
        facts: @escaping @Sendable () -> HealthFacts
    ) {
        (self.incoming, self.outgoing, self.storePath) = (incoming, outgoing, storePath)
        (self.group, self.facts) = (group, facts)
    }

    func readiness(within timeout: Duration) async -> Readiness {
        var readiness = Readiness()
        readiness.facts = facts()
        readiness.isServing = readiness.facts.isServing
        guard readiness.isServing else { return readiness }
        readiness.stuck = await stuck(within: timeout)
        readiness.outboxRows = outgoing.outbox.count
        readiness.outboxLimit = outgoing.outbox.limit
        readiness.isOutboxUnwritable = incoming.counts.isOutboxUnwritable
        readiness.freeBytes = RouterStatus.Disk.free(at: storePath) ?? .max
        readiness.failures = outgoing.transports.current.failures.map {
            (QueueName(platform: $0.platform, app: $0.app), $0.reason, $0.hasPlugin)
        }
        readiness.pluginProcesses = outgoing.plugins.processReports
        readiness.queues = outgoing.courier.status
        let wantedRelays = readiness.facts.wantedRelays
        readiness.relays = wantedRelays.count
        let statuses = incoming.pool.status
        readiness.connectedRelays = statuses.count { wantedRelays.contains($0.url) && $0.state == .connected }
        readiness.hasSource = incoming.counts.hasSeenEvents || statuses.contains(where: \.mayBringEvents)
        return readiness
    }

    /// Returns the names of parts that do not respond within `timeout`: the pipeline's thread, the courier, the event
    /// loops. Empty while the router starts or stops.
    package func stuck(within timeout: Duration) async -> [String] {
        guard facts().isServing else { return [] }
        var asked: [(name: String, ask: (@escaping @Sendable () -> Void) -> Void)] = [
            ("courier", { [courier = outgoing.courier] in courier.probe($0) }),
            (
                "pipeline",
                { [pipeline = incoming.pipeline] answer in
                    Task { if await pipeline.isResponsive(within: timeout) { answer() } }
                }
            ),
        ]
        for (number, loop) in group.makeIterator().enumerated() {
            asked.append(("event-loop-\(number)", { loop.execute($0) }))
        }
        return await LivenessCheck.missing(asked, within: timeout)
    }
}

extension RelayStatus {
    /// Whether the router reads the relay for an account and the relay has not failed.
    fileprivate var mayBringEvents: Bool {
        keys > 0 && (state == .connected || state == .connecting || lastFailure == nil)
    }
}

/// A snapshot of the router's parts, and the issues that follow from it.
struct Readiness {
    var isServing = true
    /// Parts that do not respond.
    var stuck: [String] = []
    var outboxRows = 0
    var outboxLimit = 0
    var isOutboxUnwritable = false
    /// Free bytes on the databases' disk.
    var freeBytes = Int64.max
    /// Transports that failed to start, the reason, and whether a plugin provides the platform.
    var failures: [(queue: QueueName, reason: String, hasPlugin: Bool)] = []
    /// The state of the plugin processes.
    var pluginProcesses: [PluginProcessReport] = []
    var queues: [QueueStatus] = []
    /// The number of relays under `relays.always`, and how many of them are connected.
    var relays = 0
    var connectedRelays = 0
    /// Whether the router has a source of events.
    var hasSource = true
    var facts = HealthFacts()

    /// With less free space, SQLite's next write may fail.
    private static let leastFree: Int64 = 4 << 20

    /// Issues of a single platform, app or plugin. The router is ready despite them.
    private static let ofParts: Set = ["transport-failed", "transport-paused", "plugin-paused"]

    /// All issues with their fixes, including those that leave the router ready.
    var issues: [RouterStatus.Issue] {
        guard isServing else {
            return [Self.issue("not-serving", [:], "starting or stopping", "wait a moment, then check the log")]
        }
        var found = stuck.map {
            Self.issue("stuck", ["part": $0], $0, "check the log; a restart loses no data")
        }
        if isOutboxUnwritable {
            found.append(
                Self.issue(
                    "outbox-unwritable",
                    [:],
                    "writing to disk failed; no data is lost",
                    "check the disk and its permissions; the router recovers automatically with the next event"
                )
            )
        }
        if outboxRows >= outboxLimit {
            found.append(
                Self.issue(
                    "outbox-full",
                    ["count": "\(outboxRows)", "limit": "\(outboxLimit)"],
                    "\(outboxRows) deliveries wait; the limit is \(outboxLimit)",
                    "check the queues below for the one that does not deliver"
                )
            )
        }
        if freeBytes < Self.leastFree {
            found.append(
                Self.issue(
                    "disk-full",
                    ["kibibytes": "\(freeBytes >> 10)"],
                    "\(freeBytes >> 10) KiB are free on the databases' disk, so the router rejects new events",
                    "free disk space; the router recovers automatically, and accepted data is safe"
                )
            )
        }
        if relays > 0, connectedRelays == 0 {
            found.append(
                Self.issue(
                    "no-relay",
                    ["count": "\(relays)"],
                    "none of the \(relays) relays under relays.always is connected",
                    "carillon relays list shows the state of each"
                )
            )
        }
        return found + ofTransports + doubts
    }

    /// Other platforms, apps and plugins still work.
    private var ofTransports: [RouterStatus.Issue] {
        let failed = failures.map { failure in
            Self.issue(
                "transport-failed",
                kind: failure.hasPlugin ? nil : "transport-failed-no-plugin",
                ["queue": failure.queue.words, "detail": failure.reason],
                "\(failure.queue.platform) of \(failure.queue.app): \(failure.reason)",
                failure.hasPlugin
                    ? "correct its block in the configuration (carillon check shows the line), then run: carillon reload"
                    : "correct the platform's name in the configuration or install its plugin (carillon plugin list shows "
                        + "what is loaded), then run: carillon reload"
            )
        }
        let paused = queues.filter { $0.pause?.cause == .misconfigured }.compactMap { status -> RouterStatus.Issue? in
            let (queue, reason) = (status.queue, status.pause?.reason ?? "")
            let isWithoutTransport = reason == "no-transport"
            // The failure above already gives the reason.
            if isWithoutTransport, failures.contains(where: { $0.queue == queue }) { return nil }
            return Self.issue(
                "transport-paused",
                kind: isWithoutTransport ? "transport-paused-no-plugin" : nil,
                ["queue": queue.words, "reason": reason],
                "\(queue.platform) of \(queue.app): \(reason)",
                isWithoutTransport
                    ? "put its block back into the configuration or install its plugin, then run: carillon reload"
                    : "correct the credentials, then run: carillon reload"
            )
        }
        return failed + ofPlugins + paused
    }

    /// A process that is restarting is ready again soon, so it is no issue.
    private var ofPlugins: [RouterStatus.Issue] {
        pluginProcesses.filter { $0.state == .pausing }.map { process in
            let (plugins, reason) = (process.plugins.joined(separator: ", "), process.lastCrash.map { ": \($0)" } ?? "")
            return Self.issue(
                "plugin-paused",
                ["plugins": plugins, "count": "\(process.crashes)", "detail": process.lastCrash ?? ""],
                "\(plugins) crashed \(process.crashes) times\(reason)",
                "carillon plugin list shows details; a newer plugin requires a restart"
            )
        }
    }

    /// Warnings. Pushes are still sent.
    private var doubts: [RouterStatus.Issue] {
        var found = facts.filterFailures.map { failure in
            Self.issue(
                "filter-failed",
                ["filter": failure.name, "detail": failure.reason],
                "the filter \(failure.name) cannot start: \(failure.reason)",
                "correct its name and settings in the configuration or install its plugin, then run: carillon reload",
                severity: .warning
            )
        }
        if let (mistakes, at) = facts.refusedReload, let first = mistakes.first {
            let others = mistakes.count == 1 ? "" : ", and \(mistakes.count - 1) more"
            found.append(
                Self.issue(
                    "reload-refused",
                    ["at": at.rfc3339, "detail": "\(first)", "count": "\(mistakes.count)"],
                    "the reload at \(at.words) failed, so the previous configuration is active: "
                        + "\(first)\(others)",
                    "a restart would fail: carillon check lists all errors; correct them, then run: carillon reload",
                    severity: .warning
                )
            )
        }
        if relays == 0, !hasSource, !facts.hasSource {
            found.append(
                Self.issue(
                    "no-source",
                    [:],
                    "no events: no relay, no feed and no client has sent any",
                    "add relays under relays.always, or use a feed: carillon serve --feed",
                    severity: .warning
                )
            )
        }
        return found + facts.issues
    }

    /// `kind` selects the message if a problem has several kinds.
    private static func issue(
        _ code: String,
        kind: String? = nil,
        _ values: [String: String],
        _ message: String,
        _ fix: String,
        severity: RouterStatus.Issue.Severity = .error
    ) -> RouterStatus.Issue {
        RouterStatus.Issue(
            code,
            kind: kind,
            values,
            message: "\(code): \(message)",
            fix: fix,
            severity: severity
        )
    }

    /// `details` must be set only for callers that may see names and reasons.
    func answer(details: Bool) -> ConsoleAnswer {
        let issues = issues.filter { $0.severity == .error && !Self.ofParts.contains($0.code) }
        let reasons: [JSONValue] =
            details
            ? issues.map {
                ["code": .string($0.code), "message": .string(String($0.message.dropFirst($0.code.count + 2)))]
            }
            : Set(issues.map(\.code)).sorted().map { ["code": .string($0)] }
        let body: JSONValue = ["ready": .bool(issues.isEmpty), "not_ready": .array(reasons)]
        return ConsoleAnswer(status: issues.isEmpty ? 200 : 503, body: body.json + "\n")
    }
}

/// Additional health data from outside the health check.
package struct HealthFacts: Sendable {
    /// False while the router starts or stops.
    package var isServing = false
    /// The relays under `relays.always`.
    package var wantedRelays: Set<RelayURL> = []
    /// Whether the router has a source of events other than relays.
    package var hasSource = false
    package var filterFailures: [Filters.Unavailable] = []
    /// The errors and the time of a rejected reload; `nil` if the last reload succeeded.
    package var refusedReload: (mistakes: [Diagnostic], at: Timestamp)?
    /// Issues of resources that cluster members share.
    package var issues: [RouterStatus.Issue] = []

    package init() {}
}

/// A liveness check of several parts at the same time.
final class LivenessCheck: Sendable {
    private struct State {
        var missing: Set<String>
        /// The timeout may pass before the caller waits.
        var isOver = false
        var waiter: CheckedContinuation<[String], Never>?
    }

    private let state: Mutex<State>

    private init(_ names: [String]) {
        state = Mutex(State(missing: Set(names)))
    }

    /// Returns the sorted names of parts that do not respond within `timeout`. Each part responds by calling its
    /// argument, on any thread. `after` is called when the timeout passes.
    static func missing(
        _ asked: [(name: String, ask: (@escaping @Sendable () -> Void) -> Void)],
        within timeout: Duration,
        after: (_ timeout: Duration, @escaping @Sendable () -> Void) -> Void = { timeout, end in
            DispatchQueue.global().asyncAfter(
                deadline: .now() + .milliseconds(Int(clamping: timeout.milliseconds)),
                execute: end
            )
        }
    ) async -> [String] {
        let call = LivenessCheck(asked.map(\.name))
        for (name, ask) in asked { ask { call.isHere(name) } }
        after(timeout) { call.end() }
        return await withCheckedContinuation { continuation in
            let missing = call.state.withLock { state -> [String]? in
                if state.isOver || state.missing.isEmpty { return state.missing.sorted() }
                state.waiter = continuation
                return nil
            }
            if let missing { continuation.resume(returning: missing) }
        }
    }

    private func isHere(_ name: String) {
        finish { state in
            state.missing.remove(name)
            return state.missing.isEmpty
        }
    }

    private func end() {
        finish { state in
            state.isOver = true
            return true
        }
    }

    private func finish(_ change: (inout State) -> Bool) {
        let (waiter, missing) = state.withLock { state -> (CheckedContinuation<[String], Never>?, [String]) in
            guard change(&state) else { return (nil, []) }
            defer { state.waiter = nil }
            return (state.waiter, state.missing.sorted())
        }
        waiter?.resume(returning: missing)
    }
}
