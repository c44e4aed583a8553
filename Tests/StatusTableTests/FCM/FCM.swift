import CarillonLab
import Foundation

/// Firebase, with a service account for each of two projects.
struct FCM: PushService {
    /// Creating keys takes long.
    static let projects: [App: FCMServiceAccount] = [
        .first: FCMServiceAccount(projectID: "first-project"), .second: FCMServiceAccount(projectID: "second-project"),
    ]

    let platform = "android"
    let service = LabService.fcm

    /// Another project than the service account's, for the first app.
    var projectOfFirst: String?

    func configure(_ lab: inout LabConfiguration) {
        lab.fcm = LabConfiguration.FCM(accounts: App.allCases.compactMap { Self.projects[$0] })
    }

    func block(_ app: App, _ lab: Lab) throws -> [String: any Sendable] {
        guard let fcm = lab.addresses.fcm, let project = Self.projects[app] else { return [:] }
        let account = try JSONSerialization.jsonObject(with: Data(project.json(tokenURI: fcm.tokenURL).utf8))
        return [
            "service_account_json": account as? [String: String] ?? [:],
            "project_id": app == .first ? projectOfFirst ?? project.projectID : project.projectID,
            "base_url": fcm.url,
        ]
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let token = "device\(device.rawValue):APA91b-\(bench)-" + String(repeating: "x", count: 120)
        return Place(token: token, target: token)
    }
}

/// The JSON of a refusal by Google (google.rpc.Status).
func googleRefusal(
    _ status: String,
    _ message: String,
    errorCode: String? = nil,
    violation field: String? = nil
) -> String {
    var details: [[String: Any]] = []
    if let errorCode {
        details.append(["@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": errorCode])
    }
    if let field {
        let violation = ["field": field, "description": "Invalid value"]
        details.append(["@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]])
    }
    let error: [String: Any] = ["message": message, "status": status, "details": details]
    let json = try? JSONSerialization.data(withJSONObject: ["error": error], options: .sortedKeys)
    return String(decoding: json ?? Data(), as: UTF8.self)
}
