import Console
import Core
import Delivery
import Registry
import Relays
import Storage

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

/// The issues of a running router with their fixes.
struct StatusIssues: Sendable {
    /// A credential is an issue from this many days before its expiry.
    private static let noticeDays: Int64 = 14
    /// The minimum free disk space in bytes; less is an issue.
    private static let leastFree: Int64 = 512 << 20

    private let pool: RelayPool
    private let registry: Registry
    private let keys: DeviceKeyCounts

    init(_ router: IncomingParts) {
        (pool, registry, keys) = (router.pool, router.registry, router.keys)
    }

    /// Returns all issues, with those that stop pushes first.
    func all(
        _ health: [RouterStatus.Issue],
        _ credentials: [RouterStatus.Credential],
        _ plugins: PluginOverview,
        _ disk: RouterStatus.Disk,
        at now: Timestamp
    ) async -> [RouterStatus.Issue] {
        // A full disk already has its own issue.
        let nearlyFull = health.contains { $0.code == "disk-full" } ? [] : Self.nearlyFull(disk)
        let all =
            health + Self.ending(credentials) + Self.refusedAndCrashed(plugins) + nearlyFull
            + misbehavingRelays(now) + downRelays + (await formerKey(now))
        return all.filter { $0.severity == .error } + all.filter { $0.severity == .warning }
    }

    private static func ending(_ credentials: [RouterStatus.Credential]) -> [RouterStatus.Issue] {
        credentials.filter { $0.days < noticeDays }.map { credential in
            let end = credential.days < 0 ? "has ended" : "ends in \(credential.days) days"
            return RouterStatus.Issue(
                "credential-expiring",
                [
                    "credential": credential.what, "queue": "\(credential.platform)/\(credential.app)",
                    "at": credential.endsAt,
                ],
                message: "the \(credential.what) of \(credential.platform) in app \(credential.app) \(end)",
                fix: "get a new one, replace the old one, and run: carillon reload",
                severity: credential.days < 0 ? .error : .warning
            )
        }
    }

    private static func refusedAndCrashed(_ plugins: PluginOverview) -> [RouterStatus.Issue] {
        let refused = plugins.refused.map { refusal in
            RouterStatus.Issue(
                "plugin-refused",
                ["detail": refusal],
                message: "a plugin was refused: \(refusal)",
                fix: "carillon plugin list shows the reason; carillon plugin check FILE tests it"
            )
        }
        let abandoned = plugins.processes.filter { $0.abandoned > 0 }.map { process in
            RouterStatus.Issue(
                "plugin-crashed",
                [
                    "plugins": process.plugins.joined(separator: ", "), "count": "\(process.abandoned)",
                    "detail": process.lastCrash ?? "",
                ],
                message:
                    "\(process.plugins.joined(separator: ", ")) crashed; \(process.abandoned) deliveries were given up",
                fix: process.lastCrash ?? "carillon plugin list tells more"
            )
        }
        return refused + abandoned
    }

    /// Configured relays that are down while others are up. If all are down, the router is not ready.
    private var downRelays: [RouterStatus.Issue] {
        let own = pool.status.filter(\.isOperators)
        guard own.contains(where: { $0.state == .connected }) else { return [] }
        return own.compactMap { status in
            guard case .waiting = status.state, !status.isRenewing, let failure = status.lastFailure else { return nil }
            return RouterStatus.Issue(
                "relay-down",
                ["relay": status.url.text, "failure": failure.rawValue],
                message: "\(status.url.text) is not connected (\(failure.rawValue)); the router retries automatically",
                fix: "carillon relays show \(status.url.text) shows its last message"
            )
        }
    }

    private func misbehavingRelays(_ now: Timestamp) -> [RouterStatus.Issue] {
        let misbehaving = pool.behavior.misbehaving
        guard !misbehaving.isEmpty else { return [] }
        let sorts = Set(misbehaving.flatMap { pool.behavior[$0]?.misbehaviour(at: now) ?? [] })
        let offences = RelayViolation.allCases.filter { sorts.contains($0) }
        let words = offences.map(\.words).joined(separator: ", ")
        let count = misbehaving.count == 1 ? "a relay misbehaves" : "\(misbehaving.count) relays misbehave"
        return [
            RouterStatus.Issue(
                "relay-misbehaves",
                ["count": "\(misbehaving.count)", "offences": offences.map(\.rawValue).joined(separator: ", ")],
                message: "\(count): \(words)",
                fix: "carillon relays list --misbehaving names them; carillon relays block URL keeps users' away"
            )
        ]
    }

    /// The issue of devices that are still registered to the router's former key, which retires.
    private func formerKey(_ now: Timestamp) async -> [RouterStatus.Issue] {
        guard let former = registry.keys.names.former, let date = former.retiresAt,
            let devices = await keys.devices()
        else { return [] }
        let (left, all) = (devices[former.number] ?? 0, devices.values.reduce(0, +))
        let isOver = date <= now
        guard left > 0 || isOver || !registry.isResealed else { return [] }
        let end = "\(isOver ? "retired" : "retires") at \(date.words)"
        let fix =
            registry.isResealed
            ? "carillon keys show --config FILE says more; carillon keys rotate --for 30d sets another date"
            : "stop the router and run carillon keys rotate, which finishes resealing the registry"
        return [
            RouterStatus.Issue(
                "former-key",
                kind: registry.isResealed ? "former-key" : "former-key-unsealed",
                ["count": "\(left)", "all": "\(all)", "at": date.rfc3339],
                message: "\(left) of \(all) devices are registered to a former key of the router, which \(end)",
                fix: fix
            )
        ]
    }

    private static func nearlyFull(_ disk: RouterStatus.Disk) -> [RouterStatus.Issue] {
        guard disk.free < leastFree else { return [] }
        return [
            RouterStatus.Issue(
                "disk-nearly-full",
                ["mebibytes": "\(disk.free >> 20)"],
                message: "\(disk.free >> 20) MiB are free where the databases lie",
                fix: "make room; when it is full, events are refused until there is some"
            )
        ]
    }
}
