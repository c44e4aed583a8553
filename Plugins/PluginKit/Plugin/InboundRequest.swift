package import CarillonABI

/// An HTTP request from outside for a path below ``Host/inboundURL``.
///
/// Anyone can send one: authenticate the sender by a signature or by a secret in the path.
///
/// ```swift
/// guard request.method == "POST", isSigned(request) else { return .unsupported }
/// answer(InboundAnswer(status: 204))
/// return .accepted
/// ```
public struct InboundRequest: Sendable {
    /// `GET`, `POST`, …
    public var method: String
    /// The part after the instance's path, not decoded: empty, or starts with `/`.
    public var path: String
    /// The part after `?`, not decoded.
    public var query: String
    /// Names in lower case; without `cookie`.
    public var headers: [(name: String, value: String)]
    /// Up to 256 KiB.
    public var body: [UInt8]

    /// Makes a request for tests.
    public init(
        _ method: String,
        path: String = "",
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

    package init(_ pointer: UnsafePointer<carillon_inbound_request>) {
        let abi = carillon_inbound_request.adopt(pointer)
        let fields = UnsafeBufferPointer(start: abi.headers, count: abi.headers == nil ? 0 : abi.header_count)
        self.init(
            BorrowedText(abi.method).string,
            path: BorrowedText(abi.path).string,
            query: BorrowedText(abi.query).string,
            headers: fields.map { (BorrowedText($0.name).string, BorrowedText($0.value).string) },
            body: Array(BorrowedText(abi.body).bytes)
        )
    }

    /// Returns the first header of that name, which is in lower case, or nil.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// The response to an ``InboundRequest``.
public struct InboundAnswer: Sendable {
    /// 200 to 599.
    public var status: UInt32
    /// Up to 16, with names in lower case. The router adds headers that frame a message.
    public var headers: [(name: String, value: String)]
    /// Up to 256 KiB.
    public var body: [UInt8]

    /// Makes a response; usually a status is enough.
    public init(status: UInt32, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Makes a response with plain text.
    public init(status: UInt32, text: String) {
        self.init(status: status, headers: [("content-type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// Calls `use` with the response as a borrowed ABI struct.
    fileprivate func withCStruct(_ use: (UnsafePointer<carillon_inbound_answer>) -> Void) {
        // All texts follow each other in one buffer.
        var texts: [UInt8] = []
        for (name, value) in headers { texts += Array(name.utf8) + Array(value.utf8) }
        texts.withUnsafeBytes { texts in
            var offset = 0
            func next(_ text: String) -> carillon_str {
                defer { offset += text.utf8.count }
                return carillon_str(UnsafeRawBufferPointer(rebasing: texts[offset..<offset + text.utf8.count]))
            }
            let fields = headers.map { header in
                let name = next(header.name)
                return carillon_field(name: name, value: next(header.value))
            }
            fields.withUnsafeBufferPointer { fields in
                body.withUnsafeBytes { body in
                    var answer = carillon_inbound_answer(
                        struct_size: UInt32(MemoryLayout<carillon_inbound_answer>.size),
                        status: status,
                        headers: fields.isEmpty ? nil : fields.baseAddress,
                        header_count: fields.count,
                        body: carillon_str(body)
                    )
                    use(&answer)
                }
            }
        }
    }
}

extension carillon_inbound_request: GrowingStruct {}

/// `receive` of the table.
func receiveRequest(
    _ instance: UnsafeMutableRawPointer?,
    _ request: UnsafePointer<carillon_inbound_request>?,
    _ done: carillon_inbound_done?,
    _ context: UnsafeMutableRawPointer?
) -> carillon_status {
    guard let instance, let request, let done else { return .CARILLON_INVALID }
    let reply = PendingReply(otherwise: InboundAnswer(status: 500)) { answer in answer.withCStruct { done(context, $0) }
    }
    let admission = TransportBox.at(instance).instance.receive(InboundRequest(request)) { reply.send($0) }
    // A request with a response was accepted, whatever the transport returns afterwards.
    guard admission.status != .CARILLON_OK, reply.withdraw() else { return .CARILLON_OK }
    return admission.status
}
