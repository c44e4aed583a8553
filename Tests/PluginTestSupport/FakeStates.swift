internal import CarillonABI
import Synchronization

/// The service "carillon.state/1" of a ``FakeHost``: stored values by key.
package final class FakeStates: Sendable {
    private static let totalLimit = 256 << 10

    private let kept = Mutex<[String: [UInt8]]>([:])

    /// The plugin's stored state. A test may set it before it creates the plugin's instance.
    package var values: [String: [UInt8]] {
        get { kept.withLock(\.self) }
        set { kept.withLock { $0 = newValue } }
    }

    fileprivate func set(_ key: String, _ value: [UInt8]) -> carillon_status {
        kept.withLock { kept in
            var next = kept
            next[key] = value.isEmpty ? nil : value
            let total = next.values.reduce(0) { $0 + $1.count }
            guard (1...64).contains(key.utf8.count), key.utf8.allSatisfy({ (0x20...0x7e).contains($0) }),
                value.count <= 16 << 10, next.count <= 256, total <= Self.totalLimit
            else { return .CARILLON_INVALID }
            kept = next
            return .CARILLON_OK
        }
    }

    /// The service's struct, which lives until the process ends.
    static let service = FakeService(
        carillon_states(
            struct_size: UInt32(MemoryLayout<carillon_states>.size),
            reserved: 0,
            get: getState,
            set: setState
        )
    )
}

private func getState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let kept = FakeHost.at(host)?.states.values[FakeHost.text(key)], let value else { return .CARILLON_INVALID }
    kept.withUnsafeBytes { value(context, carillon_bytes(ptr: $0.baseAddress, len: $0.count)) }
    return .CARILLON_OK
}

private func setState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_bytes
) -> carillon_status {
    let bytes = UnsafeRawBufferPointer(start: value.ptr, count: value.len)
    return FakeHost.at(host)?.states.set(FakeHost.text(key), Array(bytes)) ?? .CARILLON_INVALID
}
