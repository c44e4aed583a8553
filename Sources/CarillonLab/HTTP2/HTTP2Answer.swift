/// What goes back over a stream.
struct HTTP2Answer: Sendable {
    var status: Int
    var headers: [LabHeader]
    var body: [UInt8]

    init(status: Int, headers: [LabHeader], body: [UInt8]) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    init(status: Int, json: [UInt8]) {
        self.init(status: status, headers: [LabHeader("content-type", "application/json; charset=UTF-8")], body: json)
    }

    /// What a proxy in front of the service might say.
    init(htmlWithStatus status: Int) {
        self.init(
            status: status,
            headers: [LabHeader("content-type", "text/html; charset=utf-8")],
            body: Array(HTMLPage.text(status: status).utf8)
        )
    }
}
