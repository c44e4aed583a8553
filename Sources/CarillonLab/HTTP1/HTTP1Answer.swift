/// What goes back for an HTTP/1.1 request.
struct HTTP1Answer: Sendable {
    var status: Int
    var headers: [LabHeader]
    var body: [UInt8]
    /// The connection ends with this answer.
    var closes = false

    init(status: Int, contentType: String, _ body: [UInt8]) {
        self.status = status
        headers = [LabHeader("content-type", contentType)]
        self.body = body
    }

    init(status: Int, json text: String) {
        self.init(status: status, contentType: "application/json", Array((text + "\n").utf8))
    }
}
