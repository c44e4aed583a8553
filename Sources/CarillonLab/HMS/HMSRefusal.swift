/// Why Push Kit refuses a message, in its own form: `{"code":"80300007","msg":"…","requestId":"…"}`.
struct HMSRefusal: Error, Equatable {
    /// Push Kit's codes, as far as the lab has a reason to say them.
    enum Code: String, CaseIterable {
        case success = "80000000"
        case badParameters = "80100001"
        case badStructure = "80100003"
        case badCollapseKey = "80100013"
        case unauthenticated = "80200001"
        case tokenExpired = "80200003"
        case forbidden = "80300002"
        case invalidTokens = "80300007"
        case tooLong = "80300008"
        case tokenCount = "80300010"
        case internalError = "81000001"

        var http: Int {
            switch self {
            case .success: 200
            case .unauthenticated, .tokenExpired: 401
            case .internalError: 500
            default: 400
            }
        }

        var message: String {
            switch self {
            case .success: "Success"
            case .badParameters: "Illegal payload, some parameters are wrong"
            case .badStructure: "Illegal payload, Analyze payload error"
            case .badCollapseKey: "The collapse_key is illegal"
            case .unauthenticated: "OAuth authentication error"
            case .tokenExpired: "OAuth token expired"
            case .forbidden: "The app is forbidden to send"
            case .invalidTokens: "All tokens are invalid"
            case .tooLong: "The message body is too long"
            case .tokenCount: "The number of tokens is illegal"
            case .internalError: "System inner error"
            }
        }
    }

    var http: Int
    /// Nil: there is no body, as the front end refuses.
    var code: String?
    var message: String
    /// The exact error. Push Kit does not say it.
    var detail: String?

    init(_ code: Code, _ message: String? = nil, detail: String? = nil) {
        http = code.http
        self.code = code.rawValue
        self.message = message ?? code.message
        self.detail = detail
    }

    private init(http: Int, code: String?, message: String, detail: String? = nil) {
        self.http = http
        self.code = code
        self.message = message
        self.detail = detail
    }

    static func invalidTokens(_ detail: String) -> HMSRefusal {
        HMSRefusal(.invalidTokens, detail: detail)
    }

    static func notFound(_ detail: String) -> HMSRefusal {
        HMSRefusal(http: 404, code: nil, message: "", detail: detail)
    }

    /// The refusal that a misbehaviour orders. Its reason is a code; nil means the usual one of the status.
    static func ordered(_ answer: OrderedAnswer) -> HMSRefusal {
        let code = answer.reason ?? usual(answer.status)
        let known = code.flatMap(Code.init(rawValue:))
        return HMSRefusal(http: answer.status, code: code, message: answer.message ?? known?.message ?? "Error")
    }

    private static func usual(_ status: Int) -> String? {
        switch status {
        case 400: Code.badParameters.rawValue
        case 401: Code.tokenExpired.rawValue
        case 500: Code.internalError.rawValue
        default: nil
        }
    }

    var answer: HTTPAnswer {
        guard let code else { return HTTPAnswer(status: http) }
        return HTTPAnswer(status: http, json: Self.json(code, message))
    }

    /// The body of an answer.
    static func json(_ code: String, _ message: String) -> String {
        JSONValue.object([
            "code": .string(code), "msg": .string(message), "requestId": .string("157440955549500001002006"),
        ]).compact
    }
}
