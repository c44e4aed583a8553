import CarillonABI

/// `request`: instance, ticket of the delivery that needs it (0: unknown), the request. The frame's id is the child's
/// number of the request, which the `response` carries.
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

    /// Calls `body` with the struct, which is valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafePointer<carillon_http_request>) -> Result) -> Result {
        headers.withCStruct { headers, count in
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

    /// Writes a failure instead of a response.
    package static func write(failure: StaticString, to writer: inout FrameWriter) {
        writer.number(UInt32(0))
        writer.text(failure)
        writer.number(UInt32(0))
        writer.text("")
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

    /// Calls `body` with the struct, which is valid until `body` returns.
    package func withCStruct(_ body: (UnsafePointer<carillon_http_response>) -> Void) {
        headers.withCStruct { headers, count in
            var response = response
            response.headers = headers
            response.header_count = count
            withUnsafePointer(to: response, body)
        }
    }
}

/// `receive`: instance, method, path, query, headers, body. The frame's id is the router's number of the request, which
/// `received` carries.
package struct ReceiveMessage {
    private static let headerLimit = 128

    package let instance: UInt32
    private var request = carillon_inbound_request()
    private let headers: FieldPairs

    package static func write(
        instance: UInt32,
        _ request: carillon_inbound_request,
        to writer: inout FrameWriter
    ) {
        writer.number(instance)
        write(request, to: &writer)
    }

    /// Writes the request without an instance.
    package static func write(_ request: carillon_inbound_request, to writer: inout FrameWriter) {
        writer.text(request.method)
        writer.text(request.path)
        writer.text(request.query)
        writer.pairs(request.headers, count: request.header_count)
        writer.text(request.body)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        request.struct_size = UInt32(MemoryLayout<carillon_inbound_request>.size)
        request.method = try fields.text()
        request.path = try fields.text()
        request.query = try fields.text()
        headers = try fields.pairs(limit: Self.headerLimit)
        request.body = try fields.text()
        try fields.end(frame.kind)
    }

    /// Calls `body` with the struct, which is valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafePointer<carillon_inbound_request>) -> Result) -> Result {
        headers.withCStruct { headers, count in
            var request = request
            request.headers = headers
            request.header_count = count
            return withUnsafePointer(to: request, body)
        }
    }
}

/// `received`: the plugin's response to a client's request, or its refusal: instance, status of the ABI, HTTP status,
/// headers, body. The frame's id is the router's number of the request.
package struct ReceivedMessage {
    package static let headerLimit = 16

    package let instance: UInt32
    /// If not OK, the plugin refused the request, and there is no response.
    package let status: carillon_status
    private var answer = carillon_inbound_answer()
    private let headers: FieldPairs

    package static func write(instance: UInt32, refusal status: carillon_status, to writer: inout FrameWriter) {
        write(instance: instance, status, carillon_inbound_answer(), to: &writer)
    }

    /// Writes a response. Status 0 means that the plugin's response was invalid.
    package static func write(instance: UInt32, _ answer: carillon_inbound_answer, to writer: inout FrameWriter) {
        write(instance: instance, .CARILLON_OK, answer, to: &writer)
    }

    private static func write(
        instance: UInt32,
        _ status: carillon_status,
        _ answer: carillon_inbound_answer,
        to writer: inout FrameWriter
    ) {
        writer.number(instance)
        writer.status(status)
        writer.number(answer.status)
        writer.pairs(answer.headers, count: answer.header_count)
        writer.text(answer.body)
    }

    package init(reading frame: Frame) throws(ProtocolError) {
        var fields = frame.fields
        instance = try fields.number32()
        status = try fields.status()
        answer.struct_size = UInt32(MemoryLayout<carillon_inbound_answer>.size)
        answer.status = try fields.number32()
        headers = try fields.pairs(limit: Self.headerLimit)
        answer.body = try fields.text()
        try fields.end(frame.kind)
    }

    /// Calls `body` with the response, which is valid until `body` returns.
    package func withCStruct<Result>(_ body: (UnsafePointer<carillon_inbound_answer>) -> Result) -> Result {
        headers.withCStruct { headers, count in
            var answer = answer
            if status != .CARILLON_OK { answer.status = Self.httpStatus(of: status) }
            answer.headers = headers
            answer.header_count = count
            return withUnsafePointer(to: answer, body)
        }
    }

    /// Returns the HTTP status for a client whose request a plugin refused.
    package static func httpStatus(of refusal: carillon_status) -> UInt32 {
        switch refusal {
        case .CARILLON_INVALID: 400
        case .CARILLON_UNSUPPORTED: 404
        case .CARILLON_BUSY: 503
        default: 500
        }
    }
}
