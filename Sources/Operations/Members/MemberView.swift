import Console
import Core
import Observability

/// The operators' requests to all members of a cluster. Each member answers for itself, and the member that was asked
/// joins the answers. Without a cluster, this router's answer is complete.
package struct MemberView: Sendable {
    private let pages: MemberQuestion<[String: String], QueuePage>
    private let details: MemberQuestion<String, QueueDetails>
    private let retries: MemberQuestion<[String: String], QueueRetry>
    private let drops: MemberQuestion<[String: String], QueueDropped>
    private let eventFacts: MemberQuestion<EventQuestion, EventFacts>
    private let deliveryFacts: MemberQuestion<DeliveryQuestion, DeliveryFacts>
    /// The parameter is the timeout for the check of the router's parts, in milliseconds.
    private let statuses: MemberQuestion<Int64, RouterStatus>
    let counts: MemberQuestion<[String: String], StatisticsReport>
    /// The parameter is a part of the relays' URLs; `nil` for all relays.
    let relays: MemberQuestion<String?, RelayList>
    let listeners: MemberQuestion<NoParameters, ListenerList>
    let plugins: MemberQuestion<NoParameters, PluginOverview>
    let devices: DeviceView
    let accounts: AccountView
    private let events: EventOperations

    /// `trace` is `nil` if tracing is off.
    package init(
        _ survey: MemberSurvey,
        queue: QueueOperations,
        events: EventOperations,
        users: UserOperations,
        own: OwnOperations,
        readers: RouterReaders,
        trace: TraceStore?
    ) {
        self.events = events
        pages = survey.question("queue") { parameters in
            try await DiskWork.run {
                trace?.flush()
                return try queue.page(parameters)
            }
        }
        // Returns an empty answer if the delivery is not here, because another member may have it.
        details = survey.question("delivery") { id in
            try await DiskWork.run {
                trace?.flush()
                return try queue.details(id)
            }
        }
        retries = survey.question("retry") { try await queue.retry($0) }
        drops = survey.question("drop") { try await queue.drop($0) }
        eventFacts = survey.question("event") { question in
            try await DiskWork.run {
                trace?.flush()
                return try events.facts(of: question)
            }
        }
        deliveryFacts = survey.question("deliveries") { question in
            try await DiskWork.run { events.facts(of: question) }
        }
        statuses = survey.question("status") { await readers.status.status(within: .milliseconds($0)) }
        counts = survey.question("counts") { parameters in
            try await DiskWork.run { try readers.statistics.report(parameters) }
        }
        relays = survey.question("relays") { text in
            try await DiskWork.run { try readers.status.relays(containing: text) }
        }
        listeners = survey.question("listeners") { _ in readers.listeners.listeners }
        plugins = survey.question("plugins") { _ in readers.plugins() }
        devices = DeviceView(users.devices, trace: trace, survey)
        accounts = AccountView(users: users, own: own, devices: devices, survey)
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

    // MARK: Status

    func status(within timeout: Duration) async throws -> RouterStatus {
        try await statuses.whole(timeout.milliseconds, within: timeout + .seconds(1))
    }
}

/// Reports on the router itself.
package struct RouterReaders: Sendable {
    let status: StatusReader
    let statistics: StatisticsOperations
    let listeners: ListenerReader
    let plugins: @Sendable () -> PluginOverview

    package init(
        status: StatusReader,
        statistics: StatisticsOperations,
        listeners: ListenerReader,
        plugins: @escaping @Sendable () -> PluginOverview
    ) {
        (self.status, self.statistics, self.listeners, self.plugins) = (status, statistics, listeners, plugins)
    }
}

extension QueueDetails: JoinedAnswer {
    static func joined(_ answers: [(member: String, answer: QueueDetails)], _ asked: MembersAsked) -> QueueDetails {
        let deliveries = answers.flatMap { member, answer in
            answer.deliveries.map { delivery in
                var delivery = delivery
                delivery.item.member = member
                return delivery
            }
        }
        return QueueDetails(deliveries: deliveries, members: asked)
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
