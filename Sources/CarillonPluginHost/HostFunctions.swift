import CarillonABI
import Glibc

// The functions that plugins call. They are functions, not closures, so that C can call them.

/// A `carillon_host` that leads to the instance at `data`.
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

private func hostQuery(_: UnsafePointer<carillon_host>?, _ service: carillon_str) -> UnsafeRawPointer? {
    HostServices.table(service)
}

/// `set` of a filter's call.
func filterSet(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
    FilterEdits.set(edit, field, value)
}

/// Services that plugins ask for by name.
private enum HostServices {
    /// Unchecked: the struct never changes once it is here.
    private struct Tables: @unchecked Sendable {
        let clientCertificates: UnsafePointer<carillon_client_certificates>
    }

    private static let tables: Tables = {
        let certificates = UnsafeMutablePointer<carillon_client_certificates>.allocate(capacity: 1)
        certificates.initialize(
            to: carillon_client_certificates(
                struct_size: UInt32(MemoryLayout<carillon_client_certificates>.size),
                reserved: 0,
                present: hostPresent
            )
        )
        return Tables(clientCertificates: UnsafePointer(certificates))
    }()

    /// The struct of a service, valid until the process ends; nil for one that is not on offer.
    static func table(_ name: carillon_str) -> UnsafeRawPointer? {
        let offered: StaticString = "carillon.client-certificate/1"
        guard let start = name.ptr, name.len == offered.utf8CodeUnitCount,
            memcmp(start, offered.utf8Start, name.len) == 0
        else { return nil }
        return UnsafeRawPointer(tables.clientCertificates)
    }
}
