package import CarillonABI

/// A request from outside for something below the instance's own path, ``Host/inboundURL``.
///
/// It comes from anybody: find out who sent it, by a signature or by a secret in the path, before you believe it.
public struct InboundRequest: Sendable {
    /// `GET`, `POST`, …
    public var method: String
    /// What follows the instance's path: empty, or from `/` on, as it came.
    public var path: String
    /// What follows `?`, as it came.
    public var query: String
    /// Names in lower case; without `cookie`.
    public var headers: [(name: String, value: String)]
    /// At most 256 KiB.
    public var body: [UInt8]

    /// A request as a test makes it.
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

    /// The first header of that name, which is in lower case; nil when there is none.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
}

/// What is answered to an ``InboundRequest``.
public struct InboundAnswer: Sendable {
    /// 200 to 599.
    public var status: UInt32
    /// At most 16, with names in lower case. The router adds what frames a message.
    public var headers: [(name: String, value: String)]
    /// At most 256 KiB.
    public var body: [UInt8]

    /// An answer; mostly a status is all that is asked.
    public init(status: UInt32, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// An answer in plain text.
    public init(status: UInt32, text: String) {
        self.init(status: status, headers: [("content-type", "text/plain; charset=utf-8")], body: Array(text.utf8))
    }

    /// Lends the answer for the time of `body`.
    fileprivate func lend(_ use: (UnsafePointer<carillon_inbound_answer>) -> Void) {
        // Texts one behind the other, so that one buffer lends them all.
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
    let reply = PendingReply(otherwise: InboundAnswer(status: 500)) { answer in answer.lend { done(context, $0) } }
    let admission = TransportBox.at(instance).instance.receive(InboundRequest(request)) { reply.send($0) }
    // A request that was answered was accepted, whatever the transport says afterwards.
    guard admission.status != .CARILLON_OK, reply.withdraw() else { return .CARILLON_OK }
    return admission.status
}
