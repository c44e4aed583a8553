import Foundation
import Push

@testable import CarillonLab

/// Apple's push service, with a key for each of two teams.
struct APNs: PushService {
    static let teams: [App: LabCredentials] = [
        .first: LabCredentials(keyID: "LABKEY0001", teamID: "LABTEAM001", topic: "com.example.first"),
        .second: LabCredentials(keyID: "LABKEY0002", teamID: "LABTEAM002", topic: "com.example.second"),
    ]

    let platform = "ios"
    let service = LabService.apns

    /// A key for the first app that differs from the one that Apple knows.
    var keyOfFirst: LabCredentials?

    func configure(_ lab: inout LabConfiguration) {
        lab.apns.credentials = App.allCases.compactMap { Self.teams[$0] }
    }

    func block(_ app: App, _ lab: Lab) throws -> [String: any Sendable] {
        guard let team = Self.teams[app] else { return [:] }
        let key = app == .first ? keyOfFirst ?? team : team
        return [
            "topic": team.topic, "team_id": team.teamID, "key_id": team.keyID, "key": key.keyPEM,
            "base_url": lab.apnsURL,
        ]
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let number = String(bench, radix: 16)
        let token = "a\(device.rawValue)" + String(repeating: "0", count: 62 - number.count) + number
        return Place(token: token, target: token)
    }

    func messageID(_ request: ReceivedRequest) -> String? { request.header("apns-id") }
}

/// Apple's broadcasts for Live Activities: a device here is a channel.
struct Broadcasts: PushService {
    private static let key = "a key for those who may broadcast"

    let apns = APNs()
    let keyFile: String
    let platform = "ios"
    let service = LabService.apns

    func configure(_ lab: inout LabConfiguration) { apns.configure(&lab) }

    func block(_ app: App, _ lab: Lab) throws -> [String: any Sendable] {
        var block = try apns.block(app, lab)
        block["broadcast_key_file"] = keyFile
        return block
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) throws -> Place {
        let channel = Data("channel \(device.rawValue) of \(bench)".utf8).base64EncodedString()
        let bundleID = APNs.teams[device.app]?.topic ?? ""
        try lab.core.withState { try $0.apns.channels.create(channel, .latest, bundleID, in: .production) }
        return Place(token: "channel:\(channel)", fields: ["broadcast_key": Self.key], target: channel)
    }

    var notification: Push.Notification {
        Push.Notification(
            mode: .alert,
            signal: .dm,
            title: "Goal",
            native: ["ios": #"{"push-type":"liveactivity","event":"update","content-state":{"score":1}}"#]
        )
    }

    func messageID(_ request: ReceivedRequest) -> String? { request.header("apns-request-id") }

    /// Runs `body` while the key is in a file.
    static func with(_ body: (Broadcasts) async throws -> Void) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "carillon-status-\(UUID().uuidString)")
        try Data(key.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await body(Broadcasts(keyFile: file.path))
    }
}
