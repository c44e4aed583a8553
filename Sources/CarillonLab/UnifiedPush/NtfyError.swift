import Foundation

/// An error in ntfy's own form: `{"code":40401,"http":404,"error":"page not found"}`.
struct NtfyError: Error, Encodable, Equatable {
    var code: Int
    var http: Int
    var error: String
    var link: String?

    static let notFound = NtfyError(code: 40401, http: 404, error: "page not found")
    static let topicNotAllowed = NtfyError(
        code: 40010,
        http: 400,
        error: "invalid request: topic name is not allowed"
    )
    static let notUTF8 = NtfyError(code: 40011, http: 400, error: "invalid message: message must be UTF-8 encoded")
    static let tooLarge = NtfyError(
        code: 41301,
        http: 413,
        error: "attachment too large, or bandwidth limit reached",
        link: "https://ntfy.sh/docs/publish/#limitations"
    )

    /// What ntfy says with a status.
    static func usual(for status: Int) -> NtfyError {
        switch status {
        case 401:
            NtfyError(
                code: 40101,
                http: 401,
                error: "unauthorized",
                link: "https://ntfy.sh/docs/publish/#authentication"
            )
        case 403:
            NtfyError(code: 40301, http: 403, error: "forbidden", link: "https://ntfy.sh/docs/publish/#authentication")
        case 404: .notFound
        case 413: .tooLarge
        case 429:
            NtfyError(
                code: 42901,
                http: 429,
                error: "limit reached: too many requests",
                link: "https://ntfy.sh/docs/publish/#limitations"
            )
        case 500: NtfyError(code: 50001, http: 500, error: "internal server error")
        case 507:
            NtfyError(
                code: 50701,
                http: 507,
                error: "cannot publish to UnifiedPush topic without previously active subscriber",
                link: "https://ntfy.sh/docs/publish/#rate-limiting"
            )
        default: NtfyError(code: status * 100, http: status, error: "refused")
        }
    }

    var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
