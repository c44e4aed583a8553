import Delivery
import Foundation
import Logging
import Notifications
import PluginHost
import Synchronization
import Testing
import Units

/// The plugins that `swift build` made, loaded once for all tables.
enum BuiltPlugins {
    private static let names = [
        "APNs", "FCM", "Gotify", "HMS", "HTTPTemplate", "Ntfy", "UnifiedPush", "Webhook", "WebPush",
    ]
    .map { "libCarillon\($0).so" }
    private static let loaded = Result { try load() }

    static func host() throws -> PluginHost { try loaded.get() }

    /// A library is refused where others may write, so it is copied to a folder of our own; once it is loaded, its file
    /// may go.
    private static func load() throws -> PluginHost {
        let files = FileManager.default
        let folder = files.temporaryDirectory.resolvingSymlinksInPath()
            .appending(path: "carillon-status-\(UUID().uuidString)")
        try files.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o755]
        )
        defer { try? files.removeItem(at: folder) }
        let here = URL(filePath: try files.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
        let places = ([here] + CommandLine.arguments.map { URL(filePath: $0) }).map { $0.deletingLastPathComponent() }
        for name in names {
            let found = places.map { $0.appending(path: name) }.first { files.fileExists(atPath: $0.path) }
            let file = try #require(found, "\(name) is not beside the tests: run swift build, then the tests again")
            let copy = folder.appending(path: name)
            try files.copyItem(at: file, to: copy)
            try files.setAttributes([.posixPermissions: 0o644], ofItemAtPath: copy.path)
        }
        let host = PluginHost(
            loading: PluginSearch(folders: [folder.path], pins: [:]),
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        try #require(host.catalog.refusals.isEmpty, "\(host.catalog.refusals)")
        return host
    }
}

/// A plugin's instance as the courier knows it.
struct PluginCarriage: Transport {
    let instance: TransportInstance

    func deliver(_ delivery: Delivery, to address: DeviceAddress, completion: @escaping @Sendable (Outcome) -> Void) {
        instance.deliver(delivery.notification, id: delivery.id, to: address, completion: completion)
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
