import Console
import Core
import JSON
import Nostr
import Registry

/// The requests to all members of a cluster. Each member answers for itself, and the member that was asked joins the
/// answers. Without a cluster, this router's answer is complete.
package struct MemberView: Sendable {
    /// The number of devices in one message to a member.
    private static let portion = 200

    private let pages: MemberQuestion<[String: String], QueuePage>
    private let details: MemberQuestion<String, QueueDetails>
    private let retries: MemberQuestion<[String: String], QueueRetry>
    private let drops: MemberQuestion<[String: String], QueueDropped>
    private let eventFacts: MemberQuestion<EventQuestion, EventFacts>
    private let deliveryFacts: MemberQuestion<DeliveryQuestion, DeliveryFacts>
    /// Asks for data that only the member that pushes to a device has; `nil` without a cluster.
    private let deviceFacts: MemberQuestion<[Int64], [DeviceFacts]>?
    private let ownFacts: MemberQuestion<String, OwnFacts>
    /// The answer has at most one event.
    private let ownEvents: MemberQuestion<OwnEventQuestion, [OwnReport.Event]>
    /// The parameter is the timeout for the check of the router's parts, in milliseconds.
    private let statuses: MemberQuestion<Int64, RouterStatus>
    let counts: MemberQuestion<[String: String], StatisticsReport>
    /// The parameter is a part of the relays' URLs; `nil` for all relays.
    let relays: MemberQuestion<String?, RelayList>
    let listeners: MemberQuestion<NoParameters, ListenerList>
    let plugins: MemberQuestion<NoParameters, PluginOverview>
    let users: UserOperations
    let own: OwnOperations
    private let events: EventOperations

    package init(
        _ survey: MemberSurvey,
        queue: QueueOperations,
        events: EventOperations,
        users: UserOperations,
        own: OwnOperations,
        status: StatusReader,
        statistics: StatisticsOperations
    ) {
        (self.events, self.users, self.own) = (events, users, own)
        let (devices, files) = (users.devices, users.devices.reader.files)
        pages = survey.question("queue") { parameters in try await files.current { try queue.page(parameters) } }
        // Returns an empty answer if the delivery is not here, because another member may have it.
        details = survey.question("delivery") { id in try await files.current { try queue.details(id) } }
        retries = survey.question("retry") { try await queue.retry($0) }
        drops = survey.question("drop") { try await queue.drop($0) }
        eventFacts = survey.question("event") { question in
            try await files.current { try events.facts(of: question) }
        }
        deliveryFacts = survey.question("deliveries") { question in
            try await DiskWork.run { events.facts(of: question) }
        }
        deviceFacts = survey.peers.map { peers in
            survey.question("devices") { numbers in
                try await files.current { try devices.facts(of: numbers) { peers.owns($0) } }
            }
        }
        ownFacts = survey.question("own") { [peers = survey.peers] account in
            let key = try OperatorWords.key(account, "the account")
            let report = try await DiskWork.run { try own.report(of: key) }
            return OwnFacts(isOwner: peers?.owns(key) ?? true, report: report)
        }
        ownEvents = survey.question("own-event") { question in
            let key = try OperatorWords.key(question.account, "the account")
            return try await files.current { try own.event(question.event, of: key).map { [$0] } ?? [] }
        }
        statuses = survey.question("status") { await status.status(within: .milliseconds($0)) }
        counts = survey.question("counts") { parameters in
            try await DiskWork.run { try statistics.report(parameters) }
        }
        relays = survey.question("relays") { text in try await DiskWork.run { try status.relays(containing: text) } }
        listeners = survey.question("listeners") { _ in status.listeners }
        plugins = survey.question("plugins") { _ in status.plugins }
    }

    // MARK: Deliveries

    func queue(_ parameters: [String: String]) async throws -> QueueList {
        let request = try QueueRequest(parameters, now: .now())
        let result = try await pages.ask(parameters)
        guard let asked = result.asked else { return result.answers[0].answer.list }
        return QueueList(together: result.answers, limit: request.limit, asked)
    }

    func delivery(_ id: String) async throws -> QueueDetails {
        let whole = try await details.whole(id)
        guard !whole.deliveries.isEmpty else { throw QueueOperations.unknown(id, whole.members) }
        return whole
    }

    func retry(_ parameters: [String: String]) async throws -> QueueRetry {
        try await retries.whole(parameters, within: MemberSurvey.changeTimeout)
    }

    func drop(_ parameters: [String: String]) async throws -> QueueDropped {
        try await drops.whole(parameters, within: MemberSurvey.changeTimeout)
    }

    // MARK: Events

    func explain(_ event: String, recipient: String?) async throws -> EventExplanation {
        let question = EventQuestion(event: event, recipient: recipient)
        let facts = try await eventFacts.ask(question)
        let deliveries = try await deliveryFacts.ask(DeliveryQuestion(about: facts.answers))
        return try await DiskWork.run { [events] in
            var explanation = try events.explanation(
                of: question,
                facts.answers,
                deliveries.answers.map(\.answer),
                isWhole: deliveries.asked.map(\.silent.isEmpty) ?? true
            )
            explanation.members = facts.asked
            return explanation
        }
    }

    // MARK: Devices and users
    // Every member has the same registry, but only the pushing member knows its results.

    func devices(account: String?, after previous: Int64?, limit: Int) async throws -> DeviceList {
        let devices = users.devices
        var list = try await devices.reader.files.current {
            try devices.list(account: account, after: previous, limit: limit)
        }
        (list.devices, list.members) = try await joined(list.devices)
        return list
    }

    func device(_ number: Int64) async throws -> DeviceOverview {
        let devices = users.devices
        let overview = try await devices.reader.files.current { try devices.show(number) }
        let (joined, asked) = try await joined([overview])
        guard var whole = joined.first else { return overview }
        whole.members = asked
        return whole
    }

    /// `key` is 64 hex digits or npub1….
    func user(_ key: String) async throws -> UserOverview {
        var overview = try await DiskWork.run { [users] in try users.show(key) }
        (overview.devices, overview.members) = try await joined(overview.devices)
        // RFC 3339 times in UTC sort as strings.
        let pushes = overview.devices.compactMap(\.lastSuccess?.at) + [overview.user.lastPush].compactMap(\.self)
        overview.user.lastPush = pushes.max()
        return overview
    }

    /// Adds the data of all members to the devices. Without a cluster, returns them unchanged.
    private func joined(_ devices: [DeviceOverview]) async throws -> ([DeviceOverview], MembersAsked?) {
        guard let deviceFacts else { return (devices, nil) }
        var (found, asked): ([DeviceOverview], MembersAsked?) = ([], nil)
        for start in stride(from: 0, to: max(1, devices.count), by: Self.portion) {
            let part = Array(devices.dropFirst(start).prefix(Self.portion))
            let result = try await deviceFacts.ask(part.map(\.device))
            let known = Dictionary(grouping: result.answers.flatMap(\.answer), by: \.device)
            found += part.map { $0.with(known[$0.device] ?? []) }
            asked = asked.map { $0.and(result.asked) } ?? result.asked
        }
        return (found, asked)
    }

    // MARK: An account's own data

    func ownReport(of key: PublicKey) async throws -> OwnReport {
        let result = try await ownFacts.ask(key.hex)
        guard let asked = result.asked,
            let whole = OwnReport.together(result.answers.map(\.answer), isWhole: asked.silent.isEmpty)
        else { return result.answers[0].answer.report }
        return whole
    }

    /// Returns the history of an event, given as 64 hex digits, note1… or nevent1….
    func ownEvent(_ text: String, of key: PublicKey) async throws -> OwnReport.Event {
        let result = try await ownEvents.ask(OwnEventQuestion(account: key.hex, event: text))
        guard let found = OwnReport.Event.together(result.answers.flatMap(\.answer)) else {
            throw OwnOperations.unknownEvent
        }
        return found
    }

    func changeOwn(_ handle: String, of key: PublicKey, by object: JSONObject) async throws -> OwnChange {
        let change = try await DiskWork.run { [own] in try own.change(handle, of: key, by: object) }
        guard deviceFacts != nil, let device = change.device else { return change }
        // Other members may not know of the change yet.
        let known = try await ownReport(of: key).devices.first { $0.id == handle }
        return OwnChange(device: known.map { device.with([$0], owner: $0) } ?? device)
    }

    // MARK: Status

    func status(within timeout: Duration) async throws -> RouterStatus {
        try await statuses.whole(timeout.milliseconds, within: timeout + .seconds(1))
    }
}

extension QueueDetails: JoinedAnswer {
    static func joined(_ answers: [(member: String, answer: QueueDetails)], _ asked: MembersAsked) -> QueueDetails {
        QueueDetails(deliveries: answers.flatMap { $1.deliveries.named($0, by: \.item.member) }, members: asked)
    }
}

extension QueueRetry: JoinedAnswer {
    static func joined(_ answers: [(member: String, answer: QueueRetry)], _ asked: MembersAsked) -> QueueRetry {
        var whole = answers[0].answer
        for (_, other) in answers.dropFirst() { whole.add(other) }
        whole.members = asked
        return whole
    }
}

extension QueueDropped: JoinedAnswer {
    static func joined(_ answers: [(member: String, answer: QueueDropped)], _ asked: MembersAsked) -> QueueDropped {
        var whole = answers[0].answer
        for (_, other) in answers.dropFirst() { whole.add(other) }
        whole.members = asked
        return whole
    }
}
