import Core
import Dispatch
import Foundation
import Nostr
import Registry
import RouterConfiguration
import Synchronization

/// The keys of a router, with the number of devices registered to each.
package struct KeyReport: OperatorAnswer {
    package struct Key: Codable, Sendable {
        /// `current`, `former`, `next` or `retired`.
        package let state: String
        package let npub: String
        package let hex: String
        /// In UTC; nil for the first key.
        package let since: String?
        /// In UTC; nil if there is no date.
        package let retiresAt: String?
        package let devices: Int
    }

    /// The change that a command made; nil if it only read the keys.
    package let done: String?
    package let keys: [Key]
    /// The operator's next steps.
    package let next: [String]

    init(
        _ table: RouterKeyTable,
        _ devices: [Int: Int],
        key: PublicKey,
        done: String? = nil,
        next: [String] = []
    ) {
        self.done = done
        self.next = next
        keys =
            table.rows.isEmpty
            ? [Key(key, "current", devices: devices[1] ?? 0)]
            : table.rows.reversed().map { row in
                Key(
                    row.key,
                    row.state.rawValue,
                    since: row.since == .epoch ? nil : row.since,
                    retiresAt: row.retiresAt,
                    devices: devices[row.number] ?? 0
                )
            }
    }

    /// Reads a router's keys, even while it runs. Throws `Diagnostics` for an unusable key file, and an
    /// ``OperationError`` for an unreadable registry.
    package init(of configuration: Configuration) throws {
        let key = try IdentityFile(path: configuration.identity.keyFile).read().publicKey
        guard FileManager.default.fileExists(atPath: configuration.store.path) else {
            self.init(RouterKeyTable.unchanged, [:], key: key)
            return
        }
        do {
            let store = RouterKeyStore(try RegistryStore(reading: configuration.store.path))
            self.init(try store.table(), try store.devices(), key: key)
        } catch {
            throw OperationError.unavailable("\(error)")
        }
    }

    package var text: String {
        var lines = done.map { [$0] } ?? []
        for key in keys {
            lines.append("\(key.state.padding(toLength: 9, withPad: " ", startingAt: 0)) \(key.npub)")
            lines.append("          \(key.hex)")
            var facts = ["\(key.devices) devices"]
            if let since = key.since { facts.append("since \(since)") }
            if let date = key.retiresAt {
                facts.append((key.state == "retired" ? "retired at " : "retires at ") + date)
            }
            lines.append("          \(facts.joined(separator: ", "))")
        }
        if !next.isEmpty { lines.append("Next:") }
        return (lines + next.map { "  - \($0)" }).joined(separator: "\n")
    }
}

extension KeyReport.Key {
    fileprivate init(
        _ key: PublicKey,
        _ state: String,
        since: Timestamp? = nil,
        retiresAt: Timestamp? = nil,
        devices: Int
    ) {
        self.init(
            state: state,
            npub: NIP19.npub(key),
            hex: key.hex,
            since: since.map(\.rfc3339),
            retiresAt: retiresAt.map(\.rfc3339),
            devices: devices
        )
    }
}

/// Counts the devices that are registered to each of a running router's keys. Caches the counts for a minute, because
/// counting reads every device.
package final class DeviceKeyCounts: Sendable {
    private static let lifetime: Duration = .seconds(60)
    private static let disk = DispatchQueue(label: "carillon.device-key-counts", qos: .utility)

    let registry: Registry
    private let now: @Sendable () -> Timestamp
    private let last = Mutex<(devices: [Int: Int], takenAt: Timestamp)?>(nil)

    package init(registry: Registry, now: @escaping @Sendable () -> Timestamp) {
        self.registry = registry
        self.now = now
    }

    /// Returns the counts by key number; nil if the registry cannot be read.
    func devices() async -> [Int: Int]? {
        await withCheckedContinuation { continuation in
            Self.disk.async { continuation.resume(returning: self.count()) }
        }
    }

    /// Returns the counts by state (`current`, `former` and `retired`), for the keys that exist.
    func devicesByState() async -> [(state: String, devices: Int)]? {
        guard let devices = await devices() else { return nil }
        let names = registry.keys.names
        var states = [("current", devices[names.current.number] ?? 0)]
        if let former = names.former { states.append(("former", devices[former.number] ?? 0)) }
        if !names.retired.isEmpty {
            states.append(("retired", names.retired.reduce(0) { $0 + (devices[$1.number] ?? 0) }))
        }
        return states
    }

    /// Runs on a serial queue, so there is one count at a time.
    private func count() -> [Int: Int]? {
        let now = now()
        // If the clock was set back, the cached count is in the future and is ignored.
        if let last = last.withLock(\.self), last.takenAt <= now, now < last.takenAt + Self.lifetime {
            return last.devices
        }
        guard let devices = try? registry.devicesByRouterKey() else { return nil }
        last.withLock { $0 = (devices, now) }
        return devices
    }
}
