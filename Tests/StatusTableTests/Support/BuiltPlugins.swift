import CommandTestSupport
import Core
import Delivery
import Logging
import PluginHost
import Push
import Synchronization
import Testing

/// The plugins that `swift build` made, loaded once for all tables.
enum BuiltPlugins {
    private static let names = [
        "APNs", "FCM", "Gotify", "HTTPTemplate", "Ntfy", "UnifiedPush", "Webhook", "WebPush",
    ]
    .map { "libCarillon\($0).so" }
    private static let loaded = Result { try load() }

    static func host() throws -> PluginHost { try loaded.get() }

    private static func load() throws -> PluginHost {
        let host = PluginHost(
            loading: PluginSearch(folders: [try BuiltFile.folder(of: names)]),
            isolation: IsolationSettings(program: BuiltFile.pluginHost),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try #require(host.catalog.refusals.isEmpty, "\(host.catalog.refusals)")
        return host
    }
}

/// Devices in memory.
final class Devices: DeviceDirectory {
    private struct State {
        var addresses: [DeviceID: DeviceAddress] = [:]
        var last: Int64 = 0
    }

    private let state = Mutex(State())

    func register(_ address: DeviceAddress) -> DeviceID {
        state.withLock { state in
            state.last += 1
            let device = DeviceID(rawValue: state.last)
            state.addresses[device] = address
            return device
        }
    }

    func address(of device: DeviceID) -> DeviceAddress? { state.withLock { $0.addresses[device] } }

    func removeGone(_ device: DeviceID, registeredAt: Timestamp) {
        state.withLock { state in
            guard let address = state.addresses[device], address.registeredAt <= registeredAt else { return }
            state.addresses[device] = nil
        }
    }
}
