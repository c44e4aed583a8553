import CarillonABI
import HTTPLanes
import PluginProtocol

/// A request from outside for something below an instance's path.
package struct InboundRequest: Sendable {
    package var method: String
    /// What follows the instance's path: empty, or from `/` on.
    package var path: String
    package var query: String
    /// Names in lower case.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]

    package init(
        method: String,
        path: String,
        query: String = "",
        headers: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.headers = headers
        self.body = body
    }

    /// Lends the request for the time of `use`, in one block of memory.
    func lend<Result>(_ use: (UnsafePointer<carillon_inbound_request>) -> Result) -> Result {
        let structBytes = headers.count * MemoryLayout<carillon_field>.stride
        let textBytes = headers.reduce(method.utf8.count + path.utf8.count + query.utf8.count) {
            $0 + $1.name.utf8.count + $1.value.utf8.count
        }
        return withUnsafeTemporaryAllocation(byteCount: structBytes + textBytes, alignment: 8) { block in
            var memory = LentMemory(block, structBytes: structBytes, textBytes: textBytes)
            let fields = memory.array(of: carillon_field.self, count: headers.count)
            for (index, header) in headers.enumerated() {
                let name = memory.text(header.name)
                fields.initializeElement(at: index, to: carillon_field(name: name, value: memory.text(header.value)))
            }
            return body.withUnsafeBytes { body in
                var request = carillon_inbound_request()
                request.struct_size = UInt32(MemoryLayout<carillon_inbound_request>.size)
                request.method = memory.text(method)
                request.path = memory.text(path)
                request.query = memory.text(query)
                request.headers = headers.isEmpty ? nil : UnsafePointer(fields.baseAddress)
                request.header_count = headers.count
                request.body = carillon_bytes(ptr: body.isEmpty ? nil : body.baseAddress, len: body.count)
                return use(&request)
            }
        }
    }
}

/// What a client is answered.
package struct InboundAnswer: Sendable {
    /// The longest body of a request and of an answer.
    package static let bodyLimit = 256 << 10

    package var status: UInt32
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []

    package init(status: UInt32) { self.status = status }

    /// A copy of a plugin's answer; nil when it breaks a rule of the header.
    package init?(reading pointer: UnsafePointer<carillon_inbound_answer>?) {
        guard let answer = pointer.flatMap({ carillon_inbound_answer(adopting: $0) }),
            (200...599).contains(answer.status),
            (0...ReceivedMessage.headerLimit).contains(answer.header_count),
            let body = PluginText.bytes(answer.body, limit: Self.bodyLimit),
            // The same rules as for what plugins send: nothing that frames the message, no line breaks.
            let fields = try? HTTPFields(reading: answer.headers, count: answer.header_count)
        else { return nil }
        status = answer.status
        self.body = Array(body)
        headers = fields.withBytes { fields in
            (0..<fields.count).map { index in
                let (name, value) = fields[index]
                return (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
            }
        }
    }
}

/// What came of a request from outside.
enum InboundEnd: Sendable {
    case answered(InboundAnswer)
    /// The plugin's answer is none.
    case malformed
    /// The plugin did not take it.
    case refused(carillon_status)
    case tooMany
    case unanswered
    case draining

    var answer: InboundAnswer {
        switch self {
        case .answered(let answer): answer
        case .malformed: InboundAnswer(status: 502)
        case .refused(let status): InboundAnswer(status: ReceivedMessage.httpStatus(of: status))
        case .tooMany, .draining: InboundAnswer(status: 503)
        case .unanswered: InboundAnswer(status: 504)
        }
    }
}
