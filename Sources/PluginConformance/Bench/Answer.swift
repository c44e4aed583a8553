import CarillonABI

/// What a push service answers, byte for byte.
struct Answer: Sendable {
    /// 0: no answer arrived.
    var status: UInt32
    var headers: [(name: [UInt8], value: [UInt8])] = []
    var body: [UInt8] = []
    var failure = ""

    init(_ status: UInt32, headers: [(String, String)] = [], body: String = "") {
        self.status = status
        self.headers = headers.map { (Array($0.0.utf8), Array($0.1.utf8)) }
        self.body = Array(body.utf8)
    }

    /// No answer arrived.
    static func nothing(because failure: String) -> Answer {
        var answer = Answer(0)
        answer.failure = failure
        return answer
    }

    /// A good answer of an authorization server (RFC 6749 section 5.1).
    static let accessToken = Answer(
        200,
        headers: [("content-type", "application/json")],
        body: #"{"access_token":"conformance","token_type":"Bearer","expires_in":3600}"#
    )

    /// The answer as the ABI says it, for as long as `arena` lives.
    func lend(in arena: Arena) -> UnsafePointer<carillon_http_response>? {
        let fields = headers.map { carillon_field(name: arena.text($0.name), value: arena.text($0.value)) }
        return arena.lend(
            carillon_http_response(
                struct_size: 0,
                status: status,
                headers: arena.array(fields),
                header_count: fields.count,
                body: arena.text(body),
                failure: arena.text(Array(failure.utf8))
            )
        )
    }
}
