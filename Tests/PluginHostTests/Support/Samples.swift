import Notifications
import TimeTestSupport

extension Notification {
    static let greeting = Notification(mode: .alert, signal: .dm, title: "Alice", body: "Hello")
}

extension DeviceAddress {
    static let somewhere = DeviceAddress(
        platform: "fixture",
        app: "default",
        token: "https://push.example.com/abc",
        registeredAt: 1_700_000_000_000
    )
}
