import CarillonABI

// Functions, not closures: a closure written in an isolated context traps when a plugin calls it from another thread.

/// Reads `host_data` by its place: the struct may be shorter or longer than this build's.
private func checkHost(of host: UnsafePointer<carillon_host>?) -> CheckHost? {
    guard let data = host?.pointee.host_data else { return nil }
    return Unmanaged<CheckHost>.fromOpaque(data).takeUnretainedValue()
}

func checkLog(_ host: UnsafePointer<carillon_host>?, _: carillon_log_level, _ message: carillon_str) {
    guard let host = checkHost(of: host), let start = message.ptr else { return }
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: min(message.len, 65_536)))
    host.note { $0.line(bytes) }
}

func checkComplete(
    _ host: UnsafePointer<carillon_host>?,
    _ ticket: UInt64,
    _ outcome: UnsafePointer<carillon_outcome>?
) {
    let ending = Ending(reading: outcome)
    checkHost(of: host)?.note { $0.end(ticket, ending) }
}

func checkHTTPRequest(
    _ host: UnsafePointer<carillon_host>?,
    _ request: UnsafePointer<carillon_http_request>?,
    _ done: carillon_http_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    checkHost(of: host)?.take(request, done, context) ?? .CARILLON_INVALID
}

func checkQuery(_ host: UnsafePointer<carillon_host>?, _ service: carillon_str) -> UnsafeRawPointer? {
    checkHost(of: host)?.service(service)
}

func checkPresent(
    _ host: UnsafePointer<carillon_host>?,
    _ connection: carillon_str,
    _ certificates: carillon_str,
    _ key: carillon_str,
    _ error: UnsafeMutablePointer<carillon_error>?
) -> carillon_status {
    checkHost(of: host)?.present(certificates, key, on: connection, error) ?? .CARILLON_INVALID
}

func checkCommandDone(_ context: UnsafeMutableRawPointer?, _ status: carillon_status, _ answer: carillon_str) {
    CheckedCommand.at(context)?.answer(status, answer)
}
