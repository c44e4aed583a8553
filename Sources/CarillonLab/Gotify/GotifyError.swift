/// An error in Gotify's own form: `{"error":"Unauthorized","errorCode":401,"errorDescription":"…"}`.
struct GotifyError: Error, Equatable {
    var status: Int
    var description: String

    static let unauthorized = GotifyError(
        status: 401,
        description: "you need to provide a valid access token or user credentials to access this api"
    )
    static let notFound = GotifyError(status: 404, description: "page not found")

    static func badRequest(_ description: String) -> GotifyError { GotifyError(status: 400, description: description) }

    /// What a misbehaviour orders: its reason is the description.
    static func ordered(_ answer: OrderedAnswer) -> GotifyError {
        let usual: String =
            switch answer.status {
            case 400: "Field 'message' is required"
            case 401: unauthorized.description
            case 403: "you are not allowed to access this api"
            case 404: notFound.description
            default: "an error occurred"
            }
        return GotifyError(status: answer.status, description: answer.reason ?? answer.message ?? usual)
    }

    private var name: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 413: "Request Entity Too Large"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Error"
        }
    }

    var json: String {
        JSONValue.object([
            "error": .string(name), "errorCode": .integer(Int64(status)), "errorDescription": .string(description),
        ]).compact
    }
}
