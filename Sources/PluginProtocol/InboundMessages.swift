import CarillonABI

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

    /// Lends the struct for the time of `body`.
    package func lend<Result>(_ body: (UnsafePointer<carillon_inbound_request>) -> Result) -> Result {
        headers.lend { headers, count in
            var request = request
            request.headers = headers
            request.header_count = count
            return withUnsafePointer(to: request, body)
        }
    }
}

/// `received`: the answer to a request from outside, or the status with which the plugin refused it: instance, status
/// of the ABI, HTTP status, headers, body. The frame's id is the router's number of the request.
package struct ReceivedMessage {
    package static let headerLimit = 16

    package let instance: UInt32
    /// Other than OK: the plugin did not take the request, and there is no answer.
    package let status: carillon_status
    private var answer = carillon_inbound_answer()
    private let headers: FieldPairs

    /// A refusal.
    package static func write(instance: UInt32, refusal status: carillon_status, to writer: inout FrameWriter) {
        write(instance: instance, status, carillon_inbound_answer(), to: &writer)
    }

    /// An answer. One without a status is none: the plugin gave what cannot be read.
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

    /// Lends the answer for the time of `body`.
    package func lend(_ body: (UnsafePointer<carillon_inbound_answer>) -> Void) {
        headers.lend { headers, count in
            var answer = answer
            if status != .CARILLON_OK { answer.status = Self.httpStatus(of: status) }
            answer.headers = headers
            answer.header_count = count
            withUnsafePointer(to: answer, body)
        }
    }

    /// What a client is answered whose request a plugin refused.
    package static func httpStatus(of refusal: carillon_status) -> UInt32 {
        switch refusal {
        case .CARILLON_INVALID: 400
        case .CARILLON_UNSUPPORTED: 404
        case .CARILLON_BUSY: 503
        default: 500
        }
    }
}
