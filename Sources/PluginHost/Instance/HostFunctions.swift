import CarillonABI
import PluginIsolation
import PluginProtocol

// The functions that plugins call. They are functions, not closures: a closure written in an isolated context traps
// when a plugin calls it from another thread.

/// A `carillon_host` that leads to the bridge at `data`.
func hostTable(data: UnsafeMutableRawPointer) -> carillon_host {
    carillon_host(
        struct_size: UInt32(MemoryLayout<carillon_host>.size),
        abi_minor: UInt32(CARILLON_ABI_MINOR),
        host_data: data,
        log: hostLog,
        complete: hostComplete,
        http_request: hostHTTPRequest,
        query: hostQuery
    )
}

/// The bridge that belongs to `host`, as long as it is one of ours.
func bridge(of host: UnsafePointer<carillon_host>?) -> PluginBridge? {
    guard let data = host?.pointee.host_data else { return nil }
    return Unmanaged<PluginBridge>.fromOpaque(data).takeUnretainedValue()
}

private func hostLog(_ host: UnsafePointer<carillon_host>?, _ level: carillon_log_level, _ message: carillon_str) {
    bridge(of: host)?.write(message, level)
}

private func hostComplete(
    _ host: UnsafePointer<carillon_host>?,
    _ ticket: UInt64,
    _ outcome: UnsafePointer<carillon_outcome>?
) {
    bridge(of: host)?.complete(ticket, outcome)
}

private func hostHTTPRequest(
    _ host: UnsafePointer<carillon_host>?,
    _ request: UnsafePointer<carillon_http_request>?,
    _ done: carillon_http_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let bridge = bridge(of: host) else { return .CARILLON_INVALID }
    return bridge.requests.send(request, done, context, for: bridge)
}

private func hostQuery(_: UnsafePointer<carillon_host>?, _ service: carillon_str) -> UnsafeRawPointer? {
    PluginText.bytes(service, limit: 128).flatMap(HostService.table)
}

private func hostPresent(
    _ host: UnsafePointer<carillon_host>?,
    _ connection: carillon_str,
    _ certificates: carillon_str,
    _ key: carillon_str,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    bridge(of: host)?.requests.present(certificates, key, on: connection, error) ?? .CARILLON_INVALID
}

private func hostStartTimer(
    _ host: UnsafePointer<carillon_host>?,
    _ after: UInt64,
    _ every: UInt64,
    _ fired: carillon_timer_fired?,
    _ context: UnsafeMutableRawPointer?,
    _ timer: UnsafeMutablePointer<UInt64>?
) -> carillon_status {
    bridge(of: host)?.startTimer(after: after, every: every, fired, context, timer) ?? .CARILLON_INVALID
}

private func hostCancelTimer(_ host: UnsafePointer<carillon_host>?, _ timer: UInt64) -> carillon_status {
    bridge(of: host)?.cancelTimer(timer) ?? .CARILLON_INVALID
}

private func hostGetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    bridge(of: host)?.lendState(key, value, context) ?? .CARILLON_INVALID
}

private func hostSetState(
    _ host: UnsafePointer<carillon_host>?,
    _ key: carillon_str,
    _ value: carillon_bytes
) -> carillon_status {
    bridge(of: host)?.keepState(key, value) ?? .CARILLON_INVALID
}

/// What is kept for instances in processes of their own.
let hostStates = InstanceStates(
    open: { host, changed in bridge(of: host)?.values.copy(changed) ?? [] },
    store: { host, entry, change in bridge(of: host)?.values.take(entry, change: change) },
    refresh: { host in bridge(of: host)?.values.refresh() }
)

private func hostInboundURL(
    _ host: UnsafePointer<carillon_host>?,
    _ value: carillon_value?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    bridge(of: host)?.sayInboundURL(value, context) ?? .CARILLON_INVALID
}

/// A plugin's process has answered what breaks a rule.
@Sendable func hostMistake(_ host: UnsafePointer<carillon_host>, _ rule: MistakeMessage.Rule, _ text: String) {
    bridge(of: host)?.note(rule, text)
}

/// A new process is about to make a plugin's instance again.
@Sendable func hostRemakes(_ host: UnsafePointer<carillon_host>) {
    bridge(of: host)?.requests.forgetConnections()
}

/// `done` of an operator's command.
func hostCommandDone(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
    PluginCommands.answer(context, status, answer)
}

/// `done` of a request from outside.
func hostInboundDone(_ context: UnsafeMutableRawPointer?, _ answer: UnsafePointer<carillon_inbound_answer>?) {
    InboundCalls.answer(context, answer)
}

/// `set` of a filter's call.
func filterSet(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
    PluginBridge.set(edit, field, value)
}

/// Services that plugins ask for by name.
package enum HostService {
    package static let clientCertificates: StaticString = "carillon.client-certificate/1"
    package static let timers: StaticString = "carillon.timer/1"
    package static let states: StaticString = "carillon.state/1"
    package static let inbound: StaticString = "carillon.inbound/1"
    package static let streams: StaticString = "carillon.stream/1"

    /// A service's name and its struct, which is valid until the process ends.
    ///
    /// Unchecked: the struct never changes once it is here.
    private struct Service: @unchecked Sendable {
        let name: StaticString
        let table: UnsafeRawPointer

        init<Table>(_ name: StaticString, _ table: Table) {
            let room = UnsafeMutablePointer<Table>.allocate(capacity: 1)
            room.initialize(to: table)
            self.name = name
            self.table = UnsafeRawPointer(room)
        }
    }

    private static let all = [
        Service(
            clientCertificates,
            carillon_client_certificates(
                struct_size: UInt32(MemoryLayout<carillon_client_certificates>.size),
                reserved: 0,
                present: hostPresent
            )
        ),
        Service(
            timers,
            carillon_timers(
                struct_size: UInt32(MemoryLayout<carillon_timers>.size),
                reserved: 0,
                start: hostStartTimer,
                cancel: hostCancelTimer
            )
        ),
        Service(
            states,
            carillon_states(
                struct_size: UInt32(MemoryLayout<carillon_states>.size),
                reserved: 0,
                get: hostGetState,
                set: hostSetState
            )
        ),
        Service(
            inbound,
            carillon_inbound(
                struct_size: UInt32(MemoryLayout<carillon_inbound>.size),
                reserved: 0,
                url: hostInboundURL
            )
        ),
        Service(streams, streamTable),
    ]

    /// The struct of a service; nil for one that is not on offer.
    static func table(_ name: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer? {
        all.first { isCalled($0.name, name) }?.table
    }

    /// Whether a plugin asks for the service `service` by `name`.
    package static func isCalled(_ service: StaticString, _ name: UnsafeBufferPointer<UInt8>) -> Bool {
        service.withUTF8Buffer { $0.elementsEqual(name) }
    }
}
