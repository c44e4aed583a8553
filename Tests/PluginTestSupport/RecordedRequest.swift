internal import CarillonABI

/// A request that a transport handed to the host, copied.
package struct RecordedRequest: Sendable {
    package let method: String
    package let url: String
    package let headers: [String: String]
    package let headerNames: [String]
    package let body: [UInt8]
    package let flags: UInt32
    /// The word of the connection; empty: any.
    package let connection: String
    /// In milliseconds; 0: the host's default.
    package let timeout: UInt32

    init(_ request: carillon_http_request) {
        method = FakeHost.text(request.method)
        url = FakeHost.text(request.url)
        let fields = UnsafeBufferPointer(start: request.headers, count: request.header_count)
        headerNames = fields.map { FakeHost.text($0.name) }
        headers = Dictionary(fields.map { (FakeHost.text($0.name), FakeHost.text($0.value)) }) { first, _ in first }
        body = [UInt8](UnsafeRawBufferPointer(start: request.body.ptr, count: request.body.len))
        flags = request.flags
        connection = FakeHost.text(request.connection)
        timeout = request.timeout_ms
    }

    package var bodyText: String { String(decoding: body, as: UTF8.self) }
}
