import Cipher
import Notifications

/// What was asked for lately of devices' secrets. Reading one from the disk and opening it takes longer than sending to it.
///
/// Two halves: what is found in the older one moves to the younger, and when that is full the older one is forgotten.
struct DeviceCache<Value: Sendable>: Concealed {
    private let halfCapacity: Int
    private var younger: [DeviceID: Value] = [:]
    private var older: [DeviceID: Value] = [:]
    /// Counts the times at which something was forgotten because it changed.
    private(set) var generation: UInt64 = 0

    init(capacity: Int) {
        halfCapacity = max(1, capacity / 2)
    }

    var count: Int { younger.count + older.count }

    mutating func value(of device: DeviceID) -> Value? {
        if let value = younger[device] { return value }
        guard let value = older.removeValue(forKey: device) else { return nil }
        insert(value, of: device)
        return value
    }

    /// Takes what was read, unless something changed since that `generation`: then it may be outdated already.
    mutating func remember(_ value: Value, of device: DeviceID, readIn generation: UInt64) {
        guard generation == self.generation else { return }
        older[device] = nil
        insert(value, of: device)
    }

    private mutating func insert(_ value: Value, of device: DeviceID) {
        if younger.count >= halfCapacity {
            older = younger
            younger = [:]
        }
        younger[device] = value
    }

    mutating func forget(_ devices: [DeviceID]) {
        guard !devices.isEmpty else { return }
        generation &+= 1
        for device in devices {
            younger[device] = nil
            older[device] = nil
        }
    }
}
