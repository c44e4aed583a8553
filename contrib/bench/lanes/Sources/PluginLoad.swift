import HTTPLanes
import Logging
import Notifications
import PluginHost

/// Notifications through the built APNs plugin: in as the courier hands them over, out as outcomes.
final class PluginLoad: Load {
    private let host: PluginHost
    private let instance: TransportInstance
    private let keeper: Task<Void, Never>
    private let address = DeviceAddress(
        platform: "ios",
        app: "bench",
        token: PluginLoad.device,
        registeredAt: 1_700_000_000_000
    )
    /// Becomes a payload of some 214 bytes.
    private let notification = Notification(
        mode: .alert,
        signal: .mention,
        urgency: .high,
        title: "Alice mentioned you",
        body: "\"Did you see the new relay? It answers in no time at all.\"",
        category: "mention",
        thread: "3bf0c63fcb934634",
        url: "nostr:note1qqqqqqqqqqqqqqqqqqqq"
    )

    /// `origin` stands in for Apple; the only file in `folder` is the plugin.
    init(lanes: HTTPLanes, origin: String, folder: String, keyFile: String) throws {
        let log = Logger(label: "bench") { _ in StreamLogHandler.standardError(label: "bench") }
        host = PluginHost(loading: PluginSearch(folders: [folder]), log: log)
        instance = try host.makeTransport(
            platform: "ios",
            app: "bench",
            configuration: """
                {"topic":"com.example.app","team_id":"TEAM123456","key_id":"KEY1234567","key_file":"\(keyFile)",
                "environment":"\(origin)"}
                """,
            settings: InstanceSettings(sender: lanes, log: log)
        )
        keeper = Task { [host] in await host.run() }
    }

    func push(_ number: Int, completion: @escaping @Sendable (Bool) -> Void) {
        instance.deliver(notification, id: Self.identifier(number), to: address) { outcome in
            completion(outcome.kind == .delivered && outcome.status == 200)
        }
    }

    func end() async {
        keeper.cancel()
        await host.shutDown(within: 5_000)
    }
}
