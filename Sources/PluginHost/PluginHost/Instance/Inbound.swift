import CarillonABI
import HTTPClient
import PluginProtocol

/// A client's request for a path below an instance's.
package struct InboundRequest: Sendable {
    package var method: String
    /// The part after the instance's path: empty, or starting with `/`.
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

    func write(to writer: inout FrameWriter) {
        writer.text(method)
        writer.text(path)
        writer.text(query)
        writer.number(UInt32(clamping: headers.count))
        for header in headers {
            writer.text(header.name)
            writer.text(header.value)
        }
        writer.text(body)
    }
}

/// A response to a client.
package struct InboundAnswer: Sendable {
    /// The maximum length of a request's and a response's body.
    package static let bodyLimit = 256 << 10

    package var status: UInt32
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []

    package init(status: UInt32) { self.status = status }

    /// A copy of a plugin's response; nil if it breaks a rule of the header.
    package init?(reading pointer: UnsafePointer<carillon_inbound_answer>?) {
        guard let answer = pointer.flatMap({ carillon_inbound_answer(adopting: $0) }),
            (200...599).contains(answer.status),
            (0...ReceivedMessage.headerLimit).contains(answer.header_count),
            let body = RequestForm.bytes(answer.body, limit: Self.bodyLimit),
            // The rules for plugins' requests apply: no fields that frame the message, no line breaks.
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

/// The result of a client's request.
enum InboundResult: Sendable {
    case answered(InboundAnswer)
    /// The plugin's response is invalid.
    case malformed
    /// The plugin refused it.
    case refused(carillon_status)
    case tooMany
    case unanswered
    case draining

    /// The result for a reply of the plugin's process.
    init(_ reply: PluginInboundReply) {
        switch reply {
        case .received(let message):
            self = message.withCStruct { InboundAnswer(reading: $0).map { .answered($0) } ?? .malformed }
        case .failed: self = .answered(InboundAnswer(status: 502))
        }
    }

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
