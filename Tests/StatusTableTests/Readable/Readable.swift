import CarillonLab

/// Applications on Gotify servers of the users' own choice, to be reached under two names.
struct Gotify: PushService {
    let platform = "gotify"
    let service = LabService.gotify

    func configure(_ lab: inout LabConfiguration) {
        var gotify = LabConfiguration.Gotify()
        gotify.applications = TestDevice.allCases.map { GotifyApplication(token: Self.token($0)) }
        lab.gotify = gotify
    }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] { [:] }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let token = Self.token(device)
        return Place(
            token: "\(device.reached(at: lab.addresses.gotify?.url))/message?token=\(token)",
            target: token
        )
    }

    private static func token(_ device: TestDevice) -> String { "Astatus-table0\(device.rawValue)" }
}

/// Topics on ntfy servers of the users' own choice, to be reached under two names.
struct Ntfy: PushService {
    /// Whether devices have an access token, so that limits are their account's.
    var hasAccount = false

    let platform = "ntfy"
    let service = LabService.ntfy

    func configure(_ lab: inout LabConfiguration) {
        lab.ntfy = LabConfiguration.Ntfy()
    }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] { [:] }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let topic = "alerts-\(device.rawValue)-of-\(bench)"
        return Place(
            token: "\(device.reached(at: lab.addresses.ntfy?.url))/\(topic)",
            fields: hasAccount ? ["access_token": LabConfiguration.Ntfy.accessToken] : [:],
            target: topic
        )
    }
}
