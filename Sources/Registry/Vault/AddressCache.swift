import Cipher
import Notifications

/// The addresses that were asked for lately. Reading one from the disk and opening it takes longer than sending to it.
///
/// Two halves: what is found in the older one moves to the younger, and when that is full the older one is forgotten.
struct AddressCache: Concealed {
    private let halfCapacity: Int
    private var younger: [DeviceID: DeviceAddress] = [:]
    private var older: [DeviceID: DeviceAddress] = [:]
    /// Counts the times at which something was forgotten because it changed.
    private(set) var generation: UInt64 = 0

    init(capacity: Int) {
        halfCapacity = max(1, capacity / 2)
    }

    var count: Int { younger.count + older.count }

    mutating func address(of device: DeviceID) -> DeviceAddress? {
        if let address = younger[device] { return address }
        guard let address = older.removeValue(forKey: device) else { return nil }
        insert(address, of: device)
        return address
    }

    /// Takes what was read, unless something changed since that `generation`: then it may be outdated already.
    mutating func remember(_ address: DeviceAddress, of device: DeviceID, readIn generation: UInt64) {
        guard generation == self.generation else { return }
        older[device] = nil
        insert(address, of: device)
    }

    private mutating func insert(_ address: DeviceAddress, of device: DeviceID) {
        if younger.count >= halfCapacity {
            older = younger
            younger = [:]
        }
        younger[device] = address
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
