import Core
import Foundation
import HTTPClient
import Logging
import PluginHost
import Push

/// Something that pushes.
protocol Load: Sendable {
    /// Starts the push of that number, and calls `completion` with whether the server answered 200.
    func push(_ number: Int, completion: @escaping @Sendable (Bool) -> Void)
}

extension Load {
    /// The device that the server knows.
    static var device: String { "00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0" }

    /// Different every time.
    static func identifier(_ number: Int) -> DeliveryID {
        let halves: (UInt64, UInt64) = (0x9d4f_1c2e_5b7a_4e21, 0x8c3d << 48 | UInt64(number))
        return withUnsafeBytes(of: (halves.0.bigEndian, halves.1.bigEndian)) { DeliveryID(version: 4, of: $0) }
    }
}

/// Requests like those of the APNs plugin, directly to the lanes.
struct LaneLoad: Load {
    private let lanes: HTTPLanes
    private let url: String
    private let body = [UInt8](
        #"{"aps":{"alert":{"title":"bench","body":"\#(String(repeating: "b", count: 158))"}}}"#.utf8
    )
    private let token = "bearer " + String(repeating: "t", count: 200)

    init(lanes: HTTPLanes, origin: String) {
        self.lanes = lanes
        url = origin + "/3/device/" + Self.device
    }

    func push(_ number: Int, completion: @escaping @Sendable (Bool) -> Void) {
        var headers = HTTPFields(reservingFields: 6, bytes: 384)
        headers.append("authorization", token)
        headers.append("apns-id", Self.identifier(number).description)
        headers.append("apns-topic", "com.example.app")
        headers.append("apns-push-type", "alert")
        headers.append("apns-priority", "10")
        headers.append("apns-expiration", "0")
        let request = HTTPRequest(method: "POST", url: url, headers: headers, body: body, multiplexed: true)
        lanes.send(request) { result in
            if case .success(let response) = result { completion(response.status == 200) } else { completion(false) }
        }
    }
}

/// Notifications through the built APNs plugin: in as the courier hands them over, out as outcomes.
final class PluginLoad: Load {
    private let host: PluginHost
    private let instance: TransportInstance
    private let keeper: Task<Void, Never>
    private let address = DeviceAddress(
        platform: "ios",
        app: "bench",
        token: PluginLoad.device,
        registeredAt: Timestamp(seconds: 1_700_000_000)
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

    /// `origin` is a server that simulates Apple's; the only file in `folder` is the plugin.
    init(lanes: HTTPLanes, origin: String, folder: String, keyFile: String) throws {
        let log = Logger(label: "bench") { _ in StreamLogHandler.standardError(label: "bench") }
        let here = URL(filePath: try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let program = here.deletingLastPathComponent().appending(path: "carillon-plugin-host").path
        host = PluginHost(
            loading: PluginSearch(folders: [folder]),
            isolation: IsolationSettings(program: program),
            log: log
        )
        instance = try host.makeTransport(
            platform: "ios",
            app: "bench",
            configuration: """
                {"topic":"com.example.app","team_id":"TEAM123456","key_id":"KEY1234567","key_file":"\(keyFile)",
                "base_url":"\(origin)"}
                """,
            settings: InstanceSettings(sender: lanes, log: log)
        )
        keeper = Task { [host] in await host.run() }
    }

    /// The process that the plugin runs in.
    var process: Int32? { host.processReports.first?.process }

    func push(_ number: Int, completion: @escaping @Sendable (Bool) -> Void) {
        let delivery = Delivery(
            id: Self.identifier(number),
            device: DeviceID(rawValue: 1),
            platform: address.platform,
            app: address.app,
            notification: notification,
            acceptedAt: .epoch
        )
        let attempt = DeliveryAttempt(delivery, to: address) { outcome in
            completion(outcome.kind == .delivered && outcome.status == 200)
        }
        instance.deliver([attempt])
    }

    func end() async {
        keeper.cancel()
        await host.shutDown(within: .seconds(5))
    }
}
