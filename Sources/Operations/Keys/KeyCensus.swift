import Dispatch
import Registry
import Synchronization
import Units

/// How many devices are registered to each of a running router's keys. Counting reads every device, so that a count is
/// good for a minute.
package final class KeyCensus: Sendable {
    private struct Count {
        let devices: [Int: Int]
        let takenAt: Timestamp
    }

    private static let lifetime: Duration = .seconds(60)
    private static let disk = DispatchQueue(label: "carillon.key-census", qos: .utility)

    private let registry: Registry
    private let now: @Sendable () -> Timestamp
    private let last = Mutex<Count?>(nil)

    package init(registry: Registry, now: @escaping @Sendable () -> Timestamp) {
        self.registry = registry
        self.now = now
    }

    /// By the key's number; nil when the registry cannot be read.
    func devices() async -> [Int: Int]? {
        await withCheckedContinuation { continuation in
            Self.disk.async { continuation.resume(returning: self.count()) }
        }
    }

    /// The same by what the key is to the router: `current`, `former` and `retired`, as far as there are such keys.
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

    /// One count at a time.
    private func count() -> [Int: Int]? {
        let now = now()
        // A clock that was put back makes a count of the future, which is as good as none.
        if let last = last.withLock(\.self), last.takenAt <= now, now < last.takenAt + Self.lifetime {
            return last.devices
        }
        guard let devices = try? registry.devicesByRouterKey() else { return nil }
        last.withLock { $0 = Count(devices: devices, takenAt: now) }
        return devices
    }
}
