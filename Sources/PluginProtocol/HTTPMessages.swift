import CarillonABI

/// `request`: instance, the delivery that it is for (0: not known), the request. The frame's id is the child's number
/// of the request, which the `response` carries.
package struct RequestMessage {
    private static let headerLimit = 64

    package let instance: UInt32
    package let ticket: UInt64
    private var request = carillon_http_request()
    private let headers: FieldPairs

    package static func write(
        instance: UInt32,
        ticket: UInt64,
        _ request: carillon_http_request,
        to writer: inout FrameWriter
    ) {
        writer.number(instance)
        writer.number(ticket)
        writer.number(request.flags)
        writer.number(request.timeout_ms)
        writer.number(request.max_response_bytes)
        writer.text(request.method)
        writer.text(request.url)
        writer.text(request.connection)
        writer.pairs(request.headers, count: request.header_count)
        writer.text(request.body)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        ticket = try fields.number64()
        request.struct_size = UInt32(MemoryLayout<carillon_http_request>.size)
        request.flags = try fields.number32()
        request.timeout_ms = try fields.number32()
        request.max_response_bytes = try fields.number32()
        request.method = try fields.text()
        request.url = try fields.text()
        request.connection = try fields.text()
        headers = try fields.pairs(limit: Self.headerLimit)
        request.body = try fields.text()
        try fields.end(frame.kind)
    }

    /// Lends the struct for the time of `body`.
    package func lend<Result>(_ body: (UnsafePointer<carillon_http_request>) -> Result) -> Result {
        headers.lend { headers, count in
            var request = request
            request.headers = headers
            request.header_count = count
            return withUnsafePointer(to: request, body)
        }
    }
}

/// `response`: status, failure, headers, body. The frame's id is the child's number of the request.
package struct ResponseMessage {
    private static let headerLimit = 1024

    private var response = carillon_http_response()
    private let headers: FieldPairs

    package static func write(_ response: carillon_http_response, to writer: inout FrameWriter) {
        writer.number(response.status)
        writer.text(response.failure)
        writer.pairs(response.headers, count: response.header_count)
        writer.text(response.body)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        response.struct_size = UInt32(MemoryLayout<carillon_http_response>.size)
        response.status = try fields.number32()
        response.failure = try fields.text()
        headers = try fields.pairs(limit: Self.headerLimit)
        response.body = try fields.text()
        try fields.end(frame.kind)
    }

    /// Lends the struct for the time of `body`.
    package func lend(_ body: (UnsafePointer<carillon_http_response>) -> Void) {
        headers.lend { headers, count in
            var response = response
            response.headers = headers
            response.header_count = count
            withUnsafePointer(to: response, body)
        }
    }
}
