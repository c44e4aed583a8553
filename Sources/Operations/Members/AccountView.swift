import JSON
import Nostr
import Registry

/// Account reports for operators and for the accounts themselves, joined from all members.
struct AccountView: Sendable {
    private let users: UserOperations
    private let own: OwnOperations
    private let devices: DeviceView
    private let facts: MemberQuestion<String, OwnFacts>
    /// The answer has at most one event.
    private let eventFacts: MemberQuestion<OwnEventQuestion, [OwnReport.Event]>
    private let isAlone: Bool

    init(users: UserOperations, own: OwnOperations, devices: DeviceView, _ survey: MemberSurvey) {
        (self.users, self.own, self.devices) = (users, own, devices)
        isAlone = survey.peers == nil
        facts = survey.question("own") { [peers = survey.peers] account in
            let key = try OperatorWords.key(account, "the account")
            let report = try await DiskWork.run { try own.report(of: key) }
            return OwnFacts(isOwner: peers?.owns(key) ?? true, report: report)
        }
        eventFacts = survey.question("own-event") { question in
            let key = try OperatorWords.key(question.account, "the account")
            return try await DiskWork.run { try own.knownEvent(question.event, of: key).map { [$0] } ?? [] }
        }
    }

    // MARK: For operators

    /// `key` is 64 hex digits or npub1….
    func show(_ key: String) async throws -> UserOverview {
        var overview = try await DiskWork.run { [users] in try users.show(key) }
        (overview.devices, overview.members) = try await devices.together(overview.devices)
        // RFC 3339 times in UTC sort as strings.
        let pushes = overview.devices.compactMap(\.lastSuccess?.at) + [overview.user.lastPush].compactMap(\.self)
        overview.user.lastPush = pushes.max()
        return overview
    }

    // MARK: For accounts

    func report(of key: PublicKey) async throws -> OwnReport {
        let result = try await facts.ask(key.hex)
        guard let asked = result.asked,
            let whole = OwnReport.together(result.answers.map(\.answer), isWhole: asked.silent.isEmpty)
        else { return result.answers[0].answer.report }
        return whole
    }

    /// Returns the history of an event, given as 64 hex digits, note1… or nevent1….
    func event(_ text: String, of key: PublicKey) async throws -> OwnReport.Event {
        let result = try await eventFacts.ask(OwnEventQuestion(account: key.hex, event: text))
        guard let found = OwnReport.Event.together(result.answers.flatMap(\.answer)) else {
            throw OwnOperations.unknownEvent
        }
        return found
    }

    func test(_ handle: String, of key: PublicKey, mode: String?) async throws -> OwnTest {
        try await own.test(handle, of: key, mode: mode)
    }

    func change(_ handle: String, of key: PublicKey, by object: JSONObject) async throws -> OwnChange {
        let change = try await DiskWork.run { [own] in try own.change(handle, of: key, by: object) }
        guard !isAlone, let device = change.device else { return change }
        // Other members may not know of the change yet.
        let known = try await report(of: key).devices.first { $0.id == handle }
        return OwnChange(device: known.map { device.with([$0], owner: $0) } ?? device)
    }

    func remove(_ handle: String, of key: PublicKey) async throws -> OwnChange {
        try await DiskWork.run { [own] in try own.remove(handle, of: key) }
    }

    func enter(_ name: GroupName, _ key: PublicKey) async throws -> OwnGroups {
        try await DiskWork.run { [own] in try own.enter(name, key) }
    }

    func leave(_ name: GroupName, _ key: PublicKey) async throws -> OwnGroups {
        try await DiskWork.run { [own] in try own.leave(name, key) }
    }
}

/// An account's request for one event.
struct OwnEventQuestion: Codable, Sendable {
    /// As 64 hex digits.
    var account: String
    /// As 64 hex digits, note1… or nevent1….
    var event: String
}

/// A member's data about an account.
struct OwnFacts: Codable, Sendable, Equatable {
    /// Whether this member owns the account's partition. Only the owner knows the queued pushes.
    var isOwner: Bool
    var report: OwnReport
}

extension OwnReport {
    /// Joins the members' reports of an account; `nil` if there are none. `isWhole` is whether all members responded.
    static func together(_ members: [OwnFacts], isWhole: Bool) -> OwnReport? {
        let owner = members.first(where: \.isOwner)?.report
        guard var whole = owner ?? members.first?.report else { return nil }
        let reports = members.map(\.report)
        whole.devices = whole.devices.map { device in
            device.with(
                reports.flatMap(\.devices).filter { $0.id == device.id },
                owner: owner == nil ? nil : device
            )
        }
        let relays = Dictionary(grouping: reports.flatMap(\.relays), by: \.url)
        whole.relays = relays.values.compactMap(Relay.together).sorted { $0.url < $1.url }
        let events = Dictionary(grouping: reports.flatMap(\.events), by: \.event).values.compactMap(Event.together)
        whole.events = Array(events.sorted { $0.newest > $1.newest }.prefix(OwnOperations.events))
        // At least one member has no trace before that time.
        whole.tracedSince = reports.compactMap(\.tracedSince).max()
        whole.isPartial = isWhole ? nil : true
        return whole
    }
}

extension OwnReport.Device {
    /// Returns the device with all members' latest pushes and the queue of `owner`; `nil` if it did not respond.
    func with(_ copies: [OwnReport.Device], owner: OwnReport.Device?) -> OwnReport.Device {
        var device = self
        // RFC 3339 times in UTC sort as strings.
        device.lastSuccess = copies.compactMap(\.lastSuccess).max { $0.at < $1.at }
        device.lastError = copies.compactMap(\.lastError).max { $0.at < $1.at }
        (device.pace, device.held, device.waiting) = (owner?.pace, owner?.held ?? [], owner?.waiting)
        (device.pausedUntil, device.queuePause) = (owner?.pausedUntil, owner?.queuePause)
        device.pauseMessage = owner?.pauseMessage
        return device
    }
}

extension OwnReport.Relay {
    /// Returns the copy with the most active connection, because one member reads each relay.
    fileprivate static func together(_ copies: [OwnReport.Relay]) -> OwnReport.Relay? {
        let order = ["idle", "waiting", "connecting", "connected"]
        func place(_ relay: OwnReport.Relay) -> Int { order.firstIndex(of: relay.state) ?? -1 }
        var best = copies.max { place($0) < place($1) }
        best?.readUpTo = copies.compactMap(\.readUpTo).max()
        return best
    }
}

extension OwnReport.Event {
    /// The time of the latest step.
    fileprivate var newest: String { (steps + devices.flatMap(\.steps)).map(\.at).max() ?? "" }

    /// Joins several members' histories of an event; `nil` if there are none. One member may receive an event and
    /// another push it.
    static func together(_ copies: [OwnReport.Event]) -> OwnReport.Event? {
        guard var whole = copies.max(by: { $0.newest < $1.newest }) else { return nil }
        guard copies.count > 1 else { return whole }
        whole.steps = OwnReport.Step.together(copies.map(\.steps))
        let known = whole.devices
        let others = copies.flatMap(\.devices).filter { other in
            other.id != nil && !known.contains { $0.id == other.id }
        }
        for other in others where !whole.devices.contains(where: { $0.id == other.id }) { whole.devices.append(other) }
        whole.devices = whole.devices.map { device in
            guard let id = device.id else { return device }
            let same = copies.flatMap(\.devices).filter { $0.id == id }
            var device = same.max { ($0.steps.last?.at ?? "") < ($1.steps.last?.at ?? "") } ?? device
            device.steps = OwnReport.Step.together(same.map(\.steps))
            return device
        }
        return whole
    }
}

extension OwnReport.Step {
    /// Removes duplicates and sorts the steps by time.
    fileprivate static func together(_ lists: [[OwnReport.Step]]) -> [OwnReport.Step] {
        var all: [OwnReport.Step] = []
        for step in lists.flatMap(\.self) where !all.contains(step) { all.append(step) }
        return all.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(\.element)
    }
}
