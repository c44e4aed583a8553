import CarillonLab

/// A browser's push service.
struct WebPush: PushService {
    private static let vapid = VAPIDCredentials()

    let platform = "web"
    let service = LabService.webPush

    func configure(_ lab: inout LabConfiguration) {
        var webPush = LabConfiguration.WebPush()
        webPush.vapid = Self.vapid
        lab.webPush = webPush
    }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] {
        ["vapid_key": Self.vapid.keyPEM, "subject": "mailto:ops@example.com"]
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) throws -> Place {
        let subscription = try lab.subscribe()
        let keys = try subscription.receiver.publicKeys()
        return Place(
            token: device.reached(at: lab.endpoint(of: subscription)),
            fields: ["p256dh": keys.p256dh, "auth": keys.auth],
            target: subscription.receiver.topic
        )
    }
}
