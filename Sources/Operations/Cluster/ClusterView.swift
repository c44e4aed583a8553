import EventTrace
import Units

/// What operators ask and do, over all members of the router's cluster: the member that is asked answers for itself,
/// asks the others and puts it together. Where the router serves alone, its own answer is the whole.
package final class ClusterView: Sendable {
    private let queueOperations: QueueOperations
    private let deviceOperations: DeviceOperations
    private let statusReader: StatusReader
    private let statistics: StatisticsOperations
    private let trace: TraceStore?
    private let survey: MemberSurvey
    private let control: (any ClusterControl)?
    private let cluster: @Sendable () -> ClusterStatus?

    /// `peers`, `control` and what `cluster` returns are nil where the router serves alone; `trace` where nothing is
    /// traced.
    package init(
        queue: QueueOperations,
        devices: DeviceOperations,
        status: StatusReader,
        statistics: StatisticsOperations,
        trace: TraceStore?,
        peers: (any ClusterPeers)? = nil,
        control: (any ClusterControl)? = nil,
        cluster: @escaping @Sendable () -> ClusterStatus? = { nil }
    ) {
        (queueOperations, deviceOperations, statusReader, self.trace) = (queue, devices, status, trace)
        self.statistics = statistics
        (survey, self.control, self.cluster) = (MemberSurvey(peers: peers), control, cluster)
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

    // MARK: Events and devices

    func explain(_ event: String, recipient: String?) async throws -> EventExplanation {
        let question = EventQuestion(event: event, recipient: recipient)
        let events = try await survey.ask(.event(question)) { [self] in try await facts(of: question) }
        let open = DeliveryQuestion(about: events.answers)
        let deliveries = try await survey.ask(.deliveries(open)) { [self] in try await facts(of: open) }
        let isWhole = deliveries.asked.map(\.silent.isEmpty) ?? true
        return try await DiskWork.run { [deviceOperations] in
            var explanation = try deviceOperations.explanation(
                of: question,
                events.answers,
                deliveries.answers.map(\.answer),
                isWhole: isWhole
            )
            explanation.members = events.asked
            return explanation
        }
    }

    func devices(account: String?, after previous: Int64?, limit: Int) async throws -> DeviceList {
        var list = try await DiskWork.run { [trace, deviceOperations] in
            trace?.flush()
            return try deviceOperations.list(account: account, after: previous, limit: limit)
        }
        guard survey.peers != nil else { return list }
        (list.devices, list.members) = try await together(list.devices)
        return list
    }

    func device(_ number: Int64) async throws -> DeviceOverview {
        let overview = try await DiskWork.run { [trace, deviceOperations] in
            trace?.flush()
            return try deviceOperations.show(number)
        }
        guard survey.peers != nil else { return overview }
        let (devices, asked) = try await together([overview])
        guard var whole = devices.first else { return overview }
        whole.members = asked
        return whole
    }

    /// The same devices with what all members know of them.
    private func together(_ devices: [DeviceOverview]) async throws -> ([DeviceOverview], MembersAsked?) {
        var (found, asked): ([DeviceOverview], MembersAsked?) = ([], nil)
        // So that an answer is no longer than one message.
        let portion = 200
        for start in stride(from: 0, to: max(1, devices.count), by: portion) {
            let part = Array(devices.dropFirst(start).prefix(portion))
            let numbers = part.map(\.device)
            let result = try await survey.ask(.devices(numbers)) { [self] in try await facts(of: numbers) }
            let known = Dictionary(grouping: result.answers.flatMap(\.answer), by: \.device)
            found += part.map { $0.with(known[$0.device] ?? []) }
            asked = asked.map { $0.and(result.asked) } ?? result.asked
        }
        return (found, asked)
    }

    private func facts(of question: EventQuestion) async throws -> EventFacts {
        try await DiskWork.run { [trace, deviceOperations] in
            trace?.flush()
            return try deviceOperations.facts(of: question)
        }
    }

    private func facts(of question: DeliveryQuestion) async throws -> DeliveryFacts {
        try await DiskWork.run { [deviceOperations] in deviceOperations.facts(of: question) }
    }

    private func facts(of devices: [Int64]) async throws -> [DeviceFacts] {
        try await DiskWork.run { [trace, deviceOperations, peers = survey.peers] in
            trace?.flush()
            return try deviceOperations.facts(of: devices) { peers?.owns($0) ?? true }
        }
    }

    // MARK: How it is doing

    func status(within patience: Duration) async throws -> RouterStatus {
        let result = try await survey.ask(.status, within: patience + .seconds(1)) { [statusReader] in
            await statusReader.status(within: patience)
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
        let result = try await survey.ask(.counts(parameters)) { [statistics] in
            try await DiskWork.run { try statistics.report(parameters) }
        }
        guard let asked = result.asked else { return result.answers[0].answer }
        return StatisticsReport.together(result.answers.map(\.answer), asked)
    }

    func relays(containing text: String?) async throws -> RelayList {
        let result = try await survey.ask(.relays(containing: text)) { [statusReader] in
            try await DiskWork.run { try statusReader.relays(containing: text) }
        }
        guard let asked = result.asked else { return result.answers[0].answer }
        return RelayList.together(result.answers, asked)
    }

    // MARK: For other members

    /// Answers what another member asks. The bytes may be anything.
    package func answer(_ bytes: [UInt8]) async -> [UInt8] {
        guard let question = MemberJSON.read(bytes, as: MemberQuestion.self) else {
            return MemberAnswer.refusal(.unavailable("this member's version does not know the question"))
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
        case .status: MemberAnswer.bytes(await statusReader.status(within: .seconds(2)))
        case .counts(let parameters):
            MemberAnswer.bytes(try await DiskWork.run { [statistics] in try statistics.report(parameters) })
        case .partitions: MemberAnswer.bytes(cluster()?.waitingByPartition ?? [:])
        case .relays(let text):
            MemberAnswer.bytes(try await DiskWork.run { [statusReader] in try statusReader.relays(containing: text) })
        case .queue(let parameters): MemberAnswer.bytes(try await page(parameters))
        case .delivery(let id): MemberAnswer.bytes(try await details(id))
        case .retry(let parameters): MemberAnswer.bytes(try await queueOperations.retry(parameters))
        case .drop(let parameters): MemberAnswer.bytes(try await queueOperations.drop(parameters))
        case .event(let question): MemberAnswer.bytes(try await facts(of: question))
        case .deliveries(let question): MemberAnswer.bytes(try await facts(of: question))
        case .devices(let numbers): MemberAnswer.bytes(try await facts(of: numbers))
        case .drain(let isOn):
            try await drain(isOn)
        }
    }

    private func drain(_ isOn: Bool) async throws -> [UInt8] {
        guard let control else { throw Self.alone }
        try control.drain(isOn)
        return MemberAnswer.bytes(isOn)
    }

    static let alone = OperationFailure.unknown("this router serves alone")
}
