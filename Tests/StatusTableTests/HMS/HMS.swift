import CarillonLab

/// Huawei's Push Kit, with two apps.
struct HMS: PushService {
    static let applications: [App: HMSApplication] = [
        .first: HMSApplication(appID: "100000001", clientSecret: "first"),
        .second: HMSApplication(appID: "100000002", clientSecret: "second"),
    ]

    let platform = "hms"
    let service = LabService.hms

    func configure(_ lab: inout LabConfiguration) {
        var hms = LabConfiguration.HMS()
        hms.applications = App.allCases.compactMap { Self.applications[$0] }
        lab.hms = hms
    }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] {
        guard let hms = lab.hms, let application = Self.applications[app] else { return [:] }
        return [
            "app_id": application.appID, "client_secret": application.clientSecret, "token_url": hms.tokenURL,
            "origin": hms.url,
        ]
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let token = "IQAAAACy0-device\(device.rawValue)-\(bench)-" + String(repeating: "x", count: 90)
        return Place(token: token, target: token)
    }
}
