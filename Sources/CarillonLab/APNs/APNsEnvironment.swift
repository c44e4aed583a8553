/// One of APNs' two worlds, each with its own hosts and device tokens.
public enum APNsEnvironment: String, Sendable, Hashable, Codable, CaseIterable {
    case production
    /// For builds that were not installed from the App Store or TestFlight.
    case sandbox

    /// What stands in the record for requests to send.
    var service: LabService { self == .production ? .apns : .apnsSandbox }
}
