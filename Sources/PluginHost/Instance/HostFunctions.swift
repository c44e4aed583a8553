import CarillonABI
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
private func bridge(of host: UnsafePointer<carillon_host>?) -> PluginBridge? {
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
    bridge(of: host)?.send(request, done, context) ?? .CARILLON_INVALID
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
    bridge(of: host)?.present(certificates, key, on: connection, error) ?? .CARILLON_INVALID
}

/// A plugin's process has answered what breaks a rule.
@Sendable func hostMistake(_ host: UnsafePointer<carillon_host>, _ rule: MistakeMessage.Rule, _ text: String) {
    bridge(of: host)?.note(rule, text)
}

/// A new process is about to make a plugin's instance again.
@Sendable func hostRemakes(_ host: UnsafePointer<carillon_host>) {
    bridge(of: host)?.forgetConnections()
}

/// `done` of an operator's command.
func hostCommandDone(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
    PluginBridge.answer(context, status, answer)
}

/// `set` of a filter's call.
func filterSet(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
    PluginBridge.set(edit, field, value)
}

/// Services that plugins ask for by name.
package enum HostService {
    /// Unchecked: the struct never changes once it is here.
    private struct Table: @unchecked Sendable {
        let clientCertificates: UnsafePointer<carillon_client_certificates>
    }

    private static let tables: Table = {
        let certificates = UnsafeMutablePointer<carillon_client_certificates>.allocate(capacity: 1)
        certificates.initialize(
            to: carillon_client_certificates(
                struct_size: UInt32(MemoryLayout<carillon_client_certificates>.size),
                reserved: 0,
                present: hostPresent
            )
        )
        return Table(clientCertificates: UnsafePointer(certificates))
    }()

    /// The struct of a service, valid until the process ends; nil for one that is not on offer.
    static func table(_ name: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer? {
        isClientCertificates(name) ? UnsafeRawPointer(tables.clientCertificates) : nil
    }

    package static func isClientCertificates(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
        name.elementsEqual("carillon.client-certificate/1".utf8)
    }
}

/// A command or a filter's call as the plugin names it: numbers in a pointer's place, so that an answer which comes too
/// late or twice leads to no freed memory.
struct CallContext: Sendable, Equatable {
    /// The bridge, by its place among all that were ever opened.
    var bridge: Int
    /// The command or call of that bridge, from 1.
    var number: UInt64

    private static var numberBits: Int { 40 }

    init(bridge: Int, number: UInt64) {
        self.bridge = bridge
        self.number = number
    }

    /// Nil for NULL.
    init?(_ pointer: UnsafeMutableRawPointer?) {
        guard let pointer else { return nil }
        let bits = UInt(bitPattern: pointer)
        bridge = Int(bits >> Self.numberBits)
        number = UInt64(bits & (1 << Self.numberBits - 1))
    }

    /// Nil when either number has grown beyond its place.
    var pointer: UnsafeMutableRawPointer? {
        guard bridge >= 0, bridge < 1 << 23, number > 0, number < 1 << Self.numberBits else { return nil }
        return UnsafeMutableRawPointer(bitPattern: UInt(bridge) << Self.numberBits | UInt(number))
    }
}
