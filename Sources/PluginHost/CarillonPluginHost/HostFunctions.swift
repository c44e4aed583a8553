import CarillonABI
import Core
import Glibc
import PluginProtocol

// The host functions for plugins. They are functions, not closures, so that C can call them.

/// A `carillon_host` for the instance at `data`.
func hostTable(data: UnsafeMutableRawPointer) -> carillon_host {
    carillon_host(
        struct_size: UInt32(MemoryLayout<carillon_host>.size),
        abi_minor: PluginLibrary.abiMinor,
        host_data: data,
        log: hostLog,
        complete: hostComplete,
        http_request: hostHTTPRequest,
        query: hostQuery
    )
}

private func hostLog(_ host: UnsafePointer<carillon_host>?, _ level: carillon_log_level, _ message: carillon_str) {
    guard let instance = PluginInstance.of(host) else { return }
    instance.process.log(instance, level, message)
}

private func hostComplete(
    _ host: UnsafePointer<carillon_host>?,
    _ ticket: UInt64,
    _ outcome: UnsafePointer<carillon_outcome>?
) {
    guard let instance = PluginInstance.of(host) else { return }
    instance.process.complete(instance, ticket, outcome)
}

private func hostHTTPRequest(
    _ host: UnsafePointer<carillon_host>?,
    _ request: UnsafePointer<carillon_http_request>?,
    _ done: carillon_http_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let instance = PluginInstance.of(host) else { return .CARILLON_INVALID }
    return instance.process.request(instance, request, done, context)
}

private func hostPresent(
    _ host: UnsafePointer<carillon_host>?,
    _ connection: carillon_str,
    _ certificates: carillon_str,
    _ key: carillon_str,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    guard let instance = PluginInstance.of(host) else { return .CARILLON_INVALID }
    return instance.process.present(instance, connection, certificates, key, error)
}

private func hostStartTimer(
    _ host: UnsafePointer<carillon_host>?,
    _ after: UInt64,
    _ every: UInt64,
    _ fired: carillon_timer_fired?,
    _ context: UnsafeMutableRawPointer?,
    _ timer: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    guard let instance = PluginInstance.of(host), let fired, let timer else { return .CARILLON_INVALID }
    guard !instance.isClosed else { return .CARILLON_BUSY }
    return instance.process.timers.start(of: instance, after: after, every: every, fired, context, timer)
}

private func hostCancelTimer(_ host: UnsafePointer<carillon_host>?, _ timer: UInt64) -> carillon_status {
    guard let instance = PluginInstance.of(host) else { return .CARILLON_INVALID }
    return instance.process.timers.cancel(timer, of: instance)
}

private func hostGetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let instance = PluginInstance.of(host), let value,
        let key = RequestForm.bytes(key, limit: StateValues.keyLimit), let kept = instance.kept(Array(key))
    else { return .CARILLON_INVALID }
    kept.withUnsafeBytes { value(context, carillon_bytes(ptr: $0.baseAddress, len: $0.count)) }
    return .CARILLON_OK
}

private func hostSetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_bytes
) -> carillon_status {
    guard let instance = PluginInstance.of(host), let key = RequestForm.bytes(key, limit: StateValues.keyLimit),
        let value = RequestForm.bytes(value, limit: StateValues.valueLimit)
    else { return .CARILLON_INVALID }
    return instance.keep(StateEntry(key: Array(key), value: Array(value))) ? .CARILLON_OK : .CARILLON_INVALID
}

private func hostInboundURL(
    _ host: UnsafePointer<carillon_host>?,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let instance = PluginInstance.of(host), let value else { return .CARILLON_INVALID }
    var url = instance.inboundURL
    guard !url.isEmpty else { return .CARILLON_UNSUPPORTED }
    url.withUTF8 { value(context, carillon_bytes(ptr: UnsafeRawPointer($0.baseAddress), len: $0.count)) }
    return .CARILLON_OK
}

private func hostQuery(_: UnsafePointer<carillon_host>?, _ service: carillon_str) -> UnsafeRawPointer? {
    HostServices.table(service)
}

/// `set` of a filter's call.
func filterSet(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
    FilterEdits.set(edit, field, value)
}

/// Services that plugins request by name.
private enum HostServices {
    /// A service's name and its struct, which is valid until the process ends.
    ///
    /// Unchecked: the struct never changes.
    private struct Service: @unchecked Sendable {
        let name: StaticString
        let table: UnsafeRawPointer

        init<Table>(_ name: StaticString, _ table: Table) {
            let room = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            room.initialize(to: table)
            self.name = name
            self.table = UnsafeRawPointer(room)
        }

        func isCalled(_ name: carillon_str) -> Bool {
            guard let start = name.ptr, name.len == self.name.utf8CodeUnitCount else { return false }
            return memcmp(start, self.name.utf8Start, name.len) == 0
        }
    }

    private static let all = [
        Service(
            "carillon.client-certificate/1",
            carillon_client_certificates(
                struct_size: UInt32(MemoryLayout<carillon_client_certificates>.size),
                reserved: 0,
                present: hostPresent
            )
        ),
        Service(
            "carillon.timer/1",
            carillon_timers(
                struct_size: UInt32(MemoryLayout<carillon_timers>.size),
                reserved: 0,
                start: hostStartTimer,
                cancel: hostCancelTimer
            )
        ),
        Service(
            "carillon.state/1",
            carillon_states(
                struct_size: UInt32(MemoryLayout<carillon_states>.size),
                reserved: 0,
                get: hostGetState,
                set: hostSetState
            )
        ),
        Service(
            "carillon.inbound/1",
            carillon_inbound(
                struct_size: UInt32(MemoryLayout<carillon_inbound>.size),
                reserved: 0,
                url: hostInboundURL
            )
        ),
        Service("carillon.stream/1", streamTable),
    ]

    /// The struct of a service; nil if it is not offered.
    static func table(_ name: carillon_str) -> UnsafeRawPointer? { all.first { $0.isCalled(name) }?.table }
}
