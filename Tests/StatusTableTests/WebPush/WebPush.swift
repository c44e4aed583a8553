import CarillonLab
import Foundation

/// A browser's push service under its real name, and another one.
struct WebPush: PushService {
    private static let vapid = VAPIDCredentials()
    private static let hosts: [WebPushFlavour: String] = [
        .apple: "web.push.apple.com", .mozilla: "updates.push.services.mozilla.com", .fcm: "fcm.googleapis.com",
        .wns: "wns2-par02p.notify.windows.com", .plain: "push.example.net",
    ]
    private static let hostOfStranger = "push.example.org"

    var flavour = WebPushFlavour.plain

    let platform = "web"
    let service = LabService.webPush

    var names: [String] { [Self.hosts[flavour] ?? "", Self.hostOfStranger] }

    func configure(_ lab: inout LabConfiguration) {
        var webPush = LabConfiguration.WebPush()
        webPush.vapid = Self.vapid
        lab.webPush = webPush
    }

    func entrance(_ lab: Lab) -> String? { lab.webPushURL }

    func block(_ app: App, _ lab: Lab) -> [String: any Sendable] {
        ["vapid_key": Self.vapid.keyPEM, "subject": "mailto:ops@example.com"]
    }

    func place(_ device: TestDevice, _ lab: Lab, bench: Int) throws -> Place {
        let subscription = try lab.subscribe(flavour)
        let keys = try subscription.receiver.publicKeys()
        let host = device == .stranger ? Self.hostOfStranger : Self.hosts[flavour] ?? ""
        return Place(
            token: (lab.endpoint(of: subscription) ?? "")
                .replacingOccurrences(of: lab.webPushURL ?? "", with: "https://\(host)"),
            fields: ["p256dh": keys.p256dh, "auth": keys.auth],
            target: subscription.receiver.topic
        )
    }
}
