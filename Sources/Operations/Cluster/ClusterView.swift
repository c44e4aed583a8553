import Console
import EventTrace
import Units

/// What operators ask and do, over all members of the router's cluster: the member that is asked answers for itself,
/// asks the others and puts it together. Where the router serves alone, its own answer is the whole.
package final class ClusterView: Sendable {
    private let queueOperations: QueueOperations
    private let eventOperations: EventOperations
    private let readers: RouterReaders
    private let trace: TraceStore?
    private let survey: MemberSurvey
    let devices: DeviceView
    let accounts: AccountView
    private let control: (any ClusterControl)?
    private let cluster: @Sendable () -> ClusterStatus?

    /// `peers`, `control` and what `cluster` returns are nil where the router serves alone; `trace` where nothing is
    /// traced.
    package init(
        queue: QueueOperations,
        devices: DeviceOperations,
        events: EventOperations,
        users: UserOperations,
        own: OwnOperations,
        readers: RouterReaders,
        trace: TraceStore?,
        peers: (any ClusterPeers)? = nil,
        control: (any ClusterControl)? = nil,
        cluster: @escaping @Sendable () -> ClusterStatus? = { nil }
    ) {
        (queueOperations, eventOperations, self.readers, self.trace) = (queue, events, readers, trace)
        (survey, self.control, self.cluster) = (MemberSurvey(peers: peers), control, cluster)
        self.devices = DeviceView(devices, trace: trace, survey)
        accounts = AccountView(users: users, own: own, devices: self.devices, survey)
    }

    // MARK: Deliveries

    func queue(_ parameters: [String: String]) async throws -> QueueList {
        let request = try QueueRequest(parameters, now: .now())
        let result = try await survey.ask(.queue(parameters)) { [self] in try await page(parameters) }
        guard let asked = result.asked else { return result.answers[0].answer.list }
        return QueueList(together: result.answers, limit: request.limit, asked)
    }

    func delivery(_ id: String) async throws -> QueueDetails {
        let result = try await survey.ask(.delivery(id: id)) { [self] in try await details(id) }
        var whole = QueueDetails(deliveries: [], members: result.asked)
        for (member, answer) in result.answers {
            whole.deliveries += answer.deliveries.map { delivery in
                var delivery = delivery
                if result.asked != nil { delivery.item.member = member }
                return delivery
            }
        }
        guard !whole.deliveries.isEmpty else { throw QueueOperations.unknown(id, result.asked) }
        return whole
    }

    func retry(_ parameters: [String: String]) async throws -> QueueRetry {
        let span = MemberSurvey.patienceForChanges
        let result = try await survey.ask(.retry(parameters), within: span) { [queueOperations] in
            try await queueOperations.retry(parameters)
        }
        var whole = result.answers[0].answer
        for (_, other) in result.answers.dropFirst() { whole.add(other) }
        whole.members = result.asked
        return whole
    }

    func drop(_ parameters: [String: String]) async throws -> QueueDropped {
        let span = MemberSurvey.patienceForChanges
        let result = try await survey.ask(.drop(parameters), within: span) { [queueOperations] in
            try await queueOperations.drop(parameters)
        }
        var whole = result.answers[0].answer
        for (_, other) in result.answers.dropFirst() { whole.add(other) }
        whole.members = result.asked
        return whole
    }

    private func page(_ parameters: [String: String]) async throws -> QueuePage {
        try await DiskWork.run { [trace, queueOperations] in
            trace?.flush()
            return try queueOperations.page(parameters)
        }
    }

    /// Nothing where there is no such delivery here: another member may have it.
    private func details(_ id: String) async throws -> QueueDetails {
        try await DiskWork.run { [trace, queueOperations] in
            trace?.flush()
            return try queueOperations.details(id)
        }
    }

    // MARK: Events

    func explain(_ event: String, recipient: String?) async throws -> EventExplanation {
        let question = EventQuestion(event: event, recipient: recipient)
        let events = try await survey.ask(.event(question)) { [self] in try await facts(of: question) }
        let open = DeliveryQuestion(about: events.answers)
        let deliveries = try await survey.ask(.deliveries(open)) { [self] in try await facts(of: open) }
        let isWhole = deliveries.asked.map(\.silent.isEmpty) ?? true
        return try await DiskWork.run { [eventOperations] in
            var explanation = try eventOperations.explanation(
                of: question,
                events.answers,
                deliveries.answers.map(\.answer),
                isWhole: isWhole
            )
            explanation.members = events.asked
            return explanation
        }
    }

    private func facts(of question: EventQuestion) async throws -> EventFacts {
        try await DiskWork.run { [trace, eventOperations] in
            trace?.flush()
            return try eventOperations.facts(of: question)
        }
    }

    private func facts(of question: DeliveryQuestion) async throws -> DeliveryFacts {
        try await DiskWork.run { [eventOperations] in eventOperations.facts(of: question) }
    }

    // MARK: How it is doing

    func status(within patience: Duration) async throws -> RouterStatus {
        let result = try await survey.ask(.status, within: patience + .seconds(1)) { [readers] in
            await readers.status.status(within: patience)
        }
        guard let asked = result.asked else { return result.answers[0].answer }
        return RouterStatus.together(result.answers, asked)
    }

    /// Who owns which partition, as this member sees it, and how much waits there, as the owners say.
    func clusterStatus() async throws -> ClusterStatus {
        guard var status = cluster() else { throw Self.alone }
        let result = try await survey.ask(.partitions) { [cluster] in cluster()?.waitingByPartition ?? [:] }
        for (_, waiting) in result.answers {
            for (partition, count) in waiting where status.partitions.indices.contains(partition) {
                status.partitions[partition].waiting = count
            }
        }
        status.asked = result.asked
        return status
    }

    func counts(_ parameters: [String: String]) async throws -> StatisticsReport {
        let result = try await survey.ask(.counts(parameters)) { [readers] in
            try await DiskWork.run { try readers.statistics.report(parameters) }
        }
        guard let asked = result.asked else { return result.answers[0].answer }
        return StatisticsReport.together(result.answers.map(\.answer), asked)
    }

    func relays(containing text: String?) async throws -> RelayList {
        let result = try await survey.ask(.relays(containing: text)) { [readers] in
            try await DiskWork.run { try readers.status.relays(containing: text) }
        }
        guard let asked = result.asked else { return result.answers[0].answer }
        return RelayList.together(result.answers, asked)
    }

    func doors() async throws -> DoorList {
        let result = try await survey.ask(.doors) { [readers] in readers.doors.doors }
        guard let asked = result.asked else { return result.answers[0].answer }
        return DoorList.together(result.answers, asked)
    }

    func plugins() async throws -> PluginOverview {
        let result = try await survey.ask(.plugins) { [readers] in readers.plugins() }
        guard let asked = result.asked else { return result.answers[0].answer }
        return PluginOverview.together(result.answers, asked)
    }

    // MARK: For other members

    /// Answers what another member asks. The bytes may be anything.
    package func answer(_ bytes: [UInt8]) async -> [UInt8] {
        guard let question = MemberJSON.read(bytes, as: MemberQuestion.self) else {
            return MemberAnswer.refusal(
                .unavailable(
                    Sentence("unknown-question", [:], "this member's version does not know the question")
                )
            )
        }
        do {
            return try await answer(question)
        } catch let failure as OperationFailure {
            return MemberAnswer.refusal(failure)
        } catch {
            return MemberAnswer.refusal(.unavailable("\(error)"))
        }
    }

    private func answer(_ question: MemberQuestion) async throws -> [UInt8] {
        switch question {
        case .status: MemberAnswer.bytes(await readers.status.status(within: .seconds(2)))
        case .counts(let parameters):
            MemberAnswer.bytes(try await DiskWork.run { [readers] in try readers.statistics.report(parameters) })
        case .partitions: MemberAnswer.bytes(cluster()?.waitingByPartition ?? [:])
        case .relays(let text):
            MemberAnswer.bytes(try await DiskWork.run { [readers] in try readers.status.relays(containing: text) })
        case .queue(let parameters): MemberAnswer.bytes(try await page(parameters))
        case .delivery(let id): MemberAnswer.bytes(try await details(id))
        case .retry(let parameters): MemberAnswer.bytes(try await queueOperations.retry(parameters))
        case .drop(let parameters): MemberAnswer.bytes(try await queueOperations.drop(parameters))
        case .event(let question): MemberAnswer.bytes(try await facts(of: question))
        case .deliveries(let question): MemberAnswer.bytes(try await facts(of: question))
        case .devices(let numbers): MemberAnswer.bytes(try await devices.facts(of: numbers))
        case .doors: MemberAnswer.bytes(readers.doors.doors)
        case .plugins: MemberAnswer.bytes(readers.plugins())
        case .keptEvents(let question): MemberAnswer.bytes(try await readers.kept.answer(question))
        case .own(let account): MemberAnswer.bytes(try await accounts.facts(of: account))
        case .ownEvent(let account, let event): MemberAnswer.bytes(try await accounts.facts(of: event, for: account))
        case .drain(let isOn):
            try await drain(isOn)
        }
    }

    private func drain(_ isOn: Bool) async throws -> [UInt8] {
        guard let control else { throw Self.alone }
        try control.drain(isOn)
        return MemberAnswer.bytes(isOn)
    }

    static let alone = OperationFailure.unknown(
        Sentence(
            "serves-alone",
            [:],
            "this router serves alone: its configuration has no block 'cluster'"
        )
    )
}

/// What tells how the router itself is doing.
package struct RouterReaders: Sendable {
    let status: StatusReader
    let statistics: StatisticsOperations
    let doors: DoorReader
    let plugins: @Sendable () -> PluginOverview
    let kept: KeptEventPages

    package init(
        status: StatusReader,
        statistics: StatisticsOperations,
        doors: DoorReader,
        plugins: @escaping @Sendable () -> PluginOverview,
        kept: KeptEventPages
    ) {
        (self.status, self.statistics, self.doors, self.plugins) = (status, statistics, doors, plugins)
        self.kept = kept
    }
}
