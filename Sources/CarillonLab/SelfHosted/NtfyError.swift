import Foundation

/// An error in ntfy's own form: `{"code":40401,"http":404,"error":"page not found"}`.
struct NtfyError: Error, Encodable, Equatable {
    var code: Int
    var http: Int
    var error: String
    var link: String?

    /// `code` is ntfy's number. Its first three digits are the HTTP status.
    init(_ code: Int, _ error: String, _ section: String? = nil) {
        self.code = code
        http = code / 100
        self.error = error
        link = section.map { "https://ntfy.sh/docs/publish/#" + $0 }
    }

    static let priorityInvalid = NtfyError(40007, "invalid request: priority invalid", "message-priority")
    static let topicInvalid = NtfyError(40009, "invalid request: topic invalid")
    static let topicNotAllowed = NtfyError(40010, "invalid request: topic name is not allowed")
    static let notUTF8 = NtfyError(40011, "invalid message: message must be UTF-8 encoded")
    static let jsonInvalid = NtfyError(40017, "invalid request: request body must be valid JSON")
    static let iconInvalid = NtfyError(40021, "invalid request: icon URL is invalid", "icons")
    static let unauthorized = NtfyError(40101, "unauthorized", "authentication")
    static let forbidden = NtfyError(40301, "forbidden", "authentication")
    static let notFound = NtfyError(40401, "page not found")
    static let tooLarge = NtfyError(41301, "attachment too large, or bandwidth limit reached", "limitations")
    static let jsonTooLarge = NtfyError(41303, "JSON body too large")
    static let noSubscriber = NtfyError(
        50701,
        "cannot publish to UnifiedPush topic without previously active subscriber",
        "rate-limiting"
    )

    private static let others = [
        NtfyError(40000, "invalid request"),
        NtfyError(42901, "limit reached: too many requests", "limitations"),
        NtfyError(42905, "limit reached: daily bandwidth reached", "limitations"),
        NtfyError(42908, "limit reached: daily message quota reached", "limitations"),
        NtfyError(42909, "limit reached: too many auth failures", "limitations"),
        NtfyError(50001, "internal server error"),
    ]

    private static let known =
        [
            priorityInvalid, topicInvalid, topicNotAllowed, notUTF8, jsonInvalid, iconInvalid, unauthorized, forbidden,
            notFound, tooLarge, jsonTooLarge, noSubscriber,
        ] + others

    static func actionsInvalid(_ why: String) -> NtfyError {
        NtfyError(40018, "invalid request: actions invalid; \(why)", "action-buttons")
    }

    static func delayInvalid(_ code: Int, _ why: String) -> NtfyError {
        NtfyError(code, "invalid request: " + why, "scheduled-delivery")
    }

    /// ntfy's usual error of a status.
    static func usual(for status: Int) -> NtfyError {
        let preferred = status == 400 ? 40000 : status * 100 + 1
        return known.first { $0.code == preferred } ?? known.first { $0.http == status }
            ?? NtfyError(status * 100, "refused")
    }

    /// The error that a misbehaviour orders. Its reason is one of ntfy's codes, or a text for the usual code of the
    /// status.
    static func ordered(_ answer: OrderedAnswer) -> NtfyError {
        var error = usual(for: answer.status)
        if let code = answer.reason.flatMap({ Int($0) }) {
            error = known.first { $0.code == code } ?? NtfyError(code, error.error)
        } else if let words = answer.reason {
            error.error = words
        }
        error.http = answer.status
        error.error = answer.message ?? error.error
        return error
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
