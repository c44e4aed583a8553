import Console

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
        let all = members.flatMap { name, status in
            status.issues.map { issue in
                var issue = issue
                issue.member = name
                return issue
            }
        }
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
