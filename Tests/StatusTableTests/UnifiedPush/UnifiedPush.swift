import CarillonLab

/// Push servers of the users' own choice, to be reached under two names.
struct UnifiedPush: PushService {
    let platform = "unifiedpush"
    let service = LabService.unifiedPush

    func configure(_ lab: inout LabConfiguration) {
        lab.unifiedPush = LabConfiguration.UnifiedPush()
    }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] { [:] }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) -> Place {
        let topic = "up\(device.rawValue)of\(bench)"
        return Place(token: "\(device.reached(at: lab.unifiedPushURL))/\(topic)?up=1", target: topic)
    }
}
