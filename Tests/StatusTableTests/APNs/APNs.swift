import CarillonLab

/// Apple's push service, with a key for each of two teams.
struct APNs: PushService {
    static let teams: [App: LabCredentials] = [
        .first: LabCredentials(keyID: "LABKEY0001", teamID: "LABTEAM001", topic: "com.example.first"),
        .second: LabCredentials(keyID: "LABKEY0002", teamID: "LABTEAM002", topic: "com.example.second"),
    ]

    let platform = "ios"
    let service = LabService.apns

    /// Another key than the one that Apple knows, for the first app.
    var keyOfFirst: LabCredentials?

    func configure(_ lab: inout LabConfiguration) {
        lab.apns.credentials = App.allCases.compactMap { Self.teams[$0] }
    }

    func block(_ app: App, _ lab: Lab) throws -> [String: any Sendable] {
        guard let team = Self.teams[app] else { return [:] }
        let key = app == .first ? keyOfFirst ?? team : team
        return [
            "topic": team.topic, "team_id": team.teamID, "key_id": team.keyID, "key": key.keyPEM,
            "environment": lab.apnsURL,
        ]
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let number = String(bench, radix: 16)
        let token = "a\(device.rawValue)" + String(repeating: "0", count: 62 - number.count) + number
        return Place(token: token, target: token)
    }

    func messageID(_ request: ReceivedRequest) -> String? { request.header("apns-id") }
}
