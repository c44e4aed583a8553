import CarillonABI
import Logging

// Functions, not closures: a closure written in an isolated context traps when a plugin calls it from another thread.

/// The door that belongs to `host`, as long as it is one of ours.
private func door(of host: UnsafePointer<carillon_host>?) -> HostDoor? {
    guard let data = host?.pointee.host_data else { return nil }
    return Unmanaged<HostDoor>.fromOpaque(data).takeUnretainedValue()
}

func hostLog(_ host: UnsafePointer<carillon_host>?, _ level: carillon_log_level, _ message: carillon_str) {
    door(of: host)?.write(message, level)
}

func hostComplete(_ host: UnsafePointer<carillon_host>?, _ ticket: UInt64, _ outcome: UnsafePointer<carillon_outcome>?)
{
    door(of: host)?.complete(ticket, outcome)
}

func hostHTTPRequest(
    _ host: UnsafePointer<carillon_host>?,
    _ request: UnsafePointer<carillon_http_request>?,
    _ done: carillon_http_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    door(of: host)?.send(request, done, context) ?? .CARILLON_INVALID
}

func hostQuery(_: UnsafePointer<carillon_host>?, _ service: carillon_str) -> UnsafeRawPointer? {
    PluginText.bytes(service, limit: 128).flatMap(HostService.table)
}

func hostCommandDone(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
    HostDoor.answer(context, status, answer)
}

func filterSet(_ edit: OpaquePointer?, _ field: carillon_str, _ value: carillon_bytes) -> carillon_status {
    HostDoor.set(edit, field, value)
}

func hostPresent(
    _ host: UnsafePointer<carillon_host>?,
    _ connection: carillon_str,
    _ certificates: carillon_str,
    _ key: carillon_str,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    door(of: host)?.present(certificates, key, on: connection, error) ?? .CARILLON_INVALID
}
