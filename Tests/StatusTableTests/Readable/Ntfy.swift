import CarillonLab

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
