import Console
import Delivery
import Registry
import RelayPool
import Units

/// What is amiss with a running router, and what helps.
struct StatusIssues: Sendable {
    /// From so many days before its end on a credential is an issue.
    private static let noticeDays: Int64 = 14
    /// Less free space is an issue.
    private static let leastFree: Int64 = 512 << 20

    private let pool: RelayPool
    private let registry: Registry
    private let keyCensus: KeyCensus

    init(pool: RelayPool, registry: Registry, keyCensus: KeyCensus) {
        (self.pool, self.registry, self.keyCensus) = (pool, registry, keyCensus)
    }

    /// All of them. What keeps the router from its work comes first.
    func all(
        _ shortcomings: [Shortcoming],
        _ credentials: [RouterStatus.Credential],
        _ plugins: PluginOverview,
        _ disk: RouterStatus.Disk,
        at now: Timestamp
    ) async -> [RouterStatus.Issue] {
        // A full disk is nearly full as well.
        let nearlyFull = shortcomings.contains { $0.what == "disk-full" } ? [] : Self.nearlyFull(disk)
        let all =
            shortcomings.map(\.issue) + Self.ending(credentials) + Self.refusedAndCrashed(plugins) + nearlyFull
            + misbehavingRelays(now) + downRelays + (await formerKey(now))
        return all.filter(\.isGrave) + all.filter { !$0.isGrave }
    }

    private static func ending(_ credentials: [RouterStatus.Credential]) -> [RouterStatus.Issue] {
        credentials.filter { $0.days < noticeDays }.map { credential in
            let end = credential.days < 0 ? "has ended" : "ends in \(credential.days) days"
            return RouterStatus.Issue(
                what: "credential-ends",
                detail: "the \(credential.what) of \(credential.platform) in app \(credential.app) \(end)",
                says: Statement(
                    "credential-ends",
                    [
                        "credential": credential.what, "queue": "\(credential.platform)/\(credential.app)",
                        "at": credential.endsAt,
                    ]
                ),
                remedy: "get a new one, put it in its place, and run: carillon reload",
                isGrave: credential.days < 0
            )
        }
    }

    private static func refusedAndCrashed(_ plugins: PluginOverview) -> [RouterStatus.Issue] {
        let refused = plugins.refused.map { refusal in
            RouterStatus.Issue(
                what: "plugin-refused",
                detail: "a plugin was refused: \(refusal)",
                says: Statement("plugin-refused", ["detail": refusal]),
                remedy: "carillon plugin list says why; carillon plugin check FILE looks closer",
                isGrave: false
            )
        }
        let setAside = plugins.processes.filter { $0.setAside > 0 }.map { process in
            RouterStatus.Issue(
                what: "plugin-crashed",
                detail:
                    "\(process.plugins.joined(separator: ", ")) crashed; \(process.setAside) deliveries were given up",
                says: Statement(
                    "plugin-crashed",
                    [
                        "plugins": process.plugins.joined(separator: ", "), "count": "\(process.setAside)",
                        "detail": process.lastDeath ?? "",
                    ]
                ),
                remedy: process.lastDeath ?? "carillon plugin list tells more",
                isGrave: false
            )
        }
        return refused + setAside
    }

    /// Relays of the configuration that are away while others are there; where none is, the router is not ready.
    private var downRelays: [RouterStatus.Issue] {
        let own = pool.status.filter(\.isOperators)
        guard own.contains(where: { $0.state == .connected }) else { return [] }
        return own.compactMap { status in
            guard case .waiting = status.state, !status.isRenewing, let failure = status.lastFailure else { return nil }
            return RouterStatus.Issue(
                what: "relay-down",
                detail: "\(status.url.text) is not connected (\(failure.rawValue)); it is tried again by itself",
                says: Statement("relay-down", ["relay": status.url.text, "failure": failure.rawValue]),
                remedy: "carillon relays show \(status.url.text) tells its last words",
                isGrave: false
            )
        }
    }

    private func misbehavingRelays(_ now: Timestamp) -> [RouterStatus.Issue] {
        let misbehaving = pool.conduct.misbehaving
        guard !misbehaving.isEmpty else { return [] }
        let sorts = Set(misbehaving.flatMap { pool.conduct[$0]?.misbehaviour(at: now) ?? [] })
        let offences = RelayOffence.allCases.filter { sorts.contains($0) }
        let words = offences.map(\.words).joined(separator: ", ")
        let count = misbehaving.count == 1 ? "a relay misbehaves" : "\(misbehaving.count) relays misbehave"
        return [
            RouterStatus.Issue(
                what: "relay-misbehaves",
                detail: "\(count): \(words)",
                says: Statement(
                    "relay-misbehaves",
                    [
                        "count": "\(misbehaving.count)",
                        "offences": offences.map(\.rawValue).joined(separator: ", "),
                    ]
                ),
                remedy: "carillon relays list --misbehaving names them; carillon relays block URL keeps users' away",
                isGrave: false
            )
        ]
    }

    /// Devices that are registered to a key that the router will not answer to for long.
    private func formerKey(_ now: Timestamp) async -> [RouterStatus.Issue] {
        guard let former = registry.keys.names.former, let date = former.retiresAt,
            let devices = await keyCensus.devices()
        else { return [] }
        let (left, all) = (devices[former.number] ?? 0, devices.values.reduce(0, +))
        let isOver = date <= now
        guard left > 0 || isOver || !registry.isResealed else { return [] }
        let end = "\(isOver ? "retired" : "retires") at \(UTCTime(date).words)"
        let remedy =
            registry.isResealed
            ? "carillon keys show --config FILE says more; carillon keys rotate --retire-after 30d sets another date"
            : "stop the router and run carillon keys rotate, which finishes sealing the registry anew"
        return [
            RouterStatus.Issue(
                what: "former-key",
                detail: "\(left) of \(all) devices are registered to a former key of the router, which \(end)",
                says: Statement(
                    registry.isResealed ? "former-key" : "former-key-unsealed",
                    ["count": "\(left)", "all": "\(all)", "at": UTCTime(date).stamp]
                ),
                remedy: remedy,
                isGrave: false
            )
        ]
    }

    private static func nearlyFull(_ disk: RouterStatus.Disk) -> [RouterStatus.Issue] {
        guard disk.free < leastFree else { return [] }
        return [
            RouterStatus.Issue(
                what: "disk-nearly-full",
                detail: "\(disk.free >> 20) MiB are free where the databases lie",
                says: Statement("disk-nearly-full", ["mebibytes": "\(disk.free >> 20)"]),
                remedy: "make room; when it is full, events are refused until there is some",
                isGrave: false
            )
        ]
    }
}

extension Shortcoming {
    /// With what helps.
    var issue: RouterStatus.Issue {
        let remedy =
            switch what {
            case "not-serving": "wait a moment, then look at the log"
            case "stuck": "look at the log; a restart loses nothing"
            case "outbox-unwritable":
                "look at the disk and its permissions; service goes on by itself, and this goes with the next event"
            case "disk-full": "make room; service goes on by itself, and nothing that was accepted is lost"
            case "outbox-full": "see below which queue does not get rid of its deliveries, and why"
            case "transport-failed":
                code == nil
                    ? "put its block in the configuration right (carillon check shows the place), then run: carillon reload"
                    : "correct the platform's name in the configuration or install its plugin (carillon plugin list shows "
                        + "what is loaded), then run: carillon reload"
            case "transport-paused":
                code == nil
                    ? "put the credentials right, then run: carillon reload"
                    : "put its block back into the configuration or install its plugin, then run: carillon reload"
            case "plugin-paused": "carillon plugin list tells more; a newer plugin takes a restart"
            case "no-relay": "carillon relays list says how it stands with each"
            case "filter-failed":
                "correct its name and settings in the configuration or install its plugin, then run: carillon reload"
            case "reload-refused":
                "a restart would fail: carillon check names every mistake; correct them, then run: carillon reload"
            case "no-source": "name relays under relays.always, or feed the router: carillon serve --feed"
            case "foreign-messages":
                "give the routers an account of their own at the servers, so that nobody else can write to the cluster's "
                    + "subjects; carillon cluster members shows who is a member"
            default: "carillon explain and the log tell more"
            }
        return RouterStatus.Issue(
            what: what,
            detail: "\(what): \(detail)",
            says: says,
            remedy: remedy,
            isGrave: isGrave
        )
    }
}
