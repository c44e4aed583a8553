import Observability

/// Device reports joined from all members. Every member has the same registry, but only the pushing member knows its
/// results.
struct DeviceView: Sendable {
    /// The number of devices in one message to a member.
    private static let portion = 200

    private let operations: DeviceOperations
    private let trace: TraceStore?
    /// Asks for data that only the member that pushes to a device has; `nil` without a cluster.
    private let facts: MemberQuestion<[Int64], [DeviceFacts]>?

    init(_ operations: DeviceOperations, trace: TraceStore?, _ survey: MemberSurvey) {
        (self.operations, self.trace) = (operations, trace)
        facts = survey.peers.map { peers in
            survey.question("devices") { devices in
                try await DiskWork.run {
                    trace?.flush()
                    return try operations.facts(of: devices) { peers.owns($0) }
                }
            }
        }
    }

    func list(account: String?, after previous: Int64?, limit: Int) async throws -> DeviceList {
        var list = try await DiskWork.run { [trace, operations] in
            trace?.flush()
            return try operations.list(account: account, after: previous, limit: limit)
        }
        (list.devices, list.members) = try await together(list.devices)
        return list
    }

    func show(_ number: Int64) async throws -> DeviceOverview {
        let overview = try await DiskWork.run { [trace, operations] in
            trace?.flush()
            return try operations.show(number)
        }
        let (devices, asked) = try await together([overview])
        guard var whole = devices.first else { return overview }
        whole.members = asked
        return whole
    }

    /// Adds the data of all members to the devices. Without a cluster, returns them unchanged.
    func together(_ devices: [DeviceOverview]) async throws -> ([DeviceOverview], MembersAsked?) {
        guard let facts else { return (devices, nil) }
        var (found, asked): ([DeviceOverview], MembersAsked?) = ([], nil)
        for start in stride(from: 0, to: max(1, devices.count), by: Self.portion) {
            let part = Array(devices.dropFirst(start).prefix(Self.portion))
            let result = try await facts.ask(part.map(\.device))
            let known = Dictionary(grouping: result.answers.flatMap(\.answer), by: \.device)
            found += part.map { $0.with(known[$0.device] ?? []) }
            asked = asked.map { $0.and(result.asked) } ?? result.asked
        }
        return (found, asked)
    }
}
