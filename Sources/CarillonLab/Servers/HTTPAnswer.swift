/// An answer over either version of HTTP.
struct HTTPAnswer: Sendable {
    var status: Int
    var headers: [LabHeader]
    var body: [UInt8]

    init(status: Int, headers: [LabHeader] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(status: Int, contentType: String, _ body: [UInt8]) {
        self.init(status: status, headers: [LabHeader("content-type", contentType)], body: body)
    }

    init(status: Int, json text: String) {
        self.init(status: status, contentType: "application/json", Array((text + "\n").utf8))
    }

    /// In the form of Google's APIs.
    init(status: Int, json: [UInt8]) {
        self.init(status: status, contentType: "application/json; charset=UTF-8", json)
    }

    /// An answer of a proxy in front of the service.
    init(htmlWithStatus status: Int) {
        self.init(status: status, contentType: "text/html; charset=utf-8", Array(HTMLPage.text(status: status).utf8))
    }

    /// Replaces the answer if a misbehaviour orders another one. `refusal` makes an error status in the service's own
    /// form.
    mutating func replace(by conduct: Misbehaviour.Conduct?, refusal: (OrderedAnswer) -> HTTPAnswer) {
        switch conduct {
        case .answer(let ordered):
            if ordered.status >= 300 {
                self = refusal(ordered)
            }
            apply(ordered)
        case .html(let status): self = HTTPAnswer(htmlWithStatus: status)
        default: break
        }
    }

    /// Applies status, headers and body of an ordered answer on top of the service's own form.
    mutating func apply(_ ordered: OrderedAnswer) {
        status = ordered.status
        if let retryAfter = ordered.retryAfter {
            set(LabHeader("retry-after", String(retryAfter)))
        }
        if let text = ordered.body {
            body = Array(text.utf8)
        }
        for header in ordered.headers {
            set(LabHeader(header.name.lowercased(), header.value))
        }
    }

    private mutating func set(_ header: LabHeader) {
        headers.removeAll { $0.name == header.name }
        headers.append(header)
    }
}

/// An error page of a proxy.
enum HTMLPage {
    static func text(status: Int) -> String {
        "<html><head><title>\(status)</title></head><body><center><h1>\(status)</h1></center><hr></body></html>\r\n"
    }
}
