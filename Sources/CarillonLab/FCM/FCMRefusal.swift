import Foundation

/// Why a message is not accepted, in the form of Google's APIs (google.rpc.Status).
struct FCMRefusal: Error, Equatable {
    struct Violation: Equatable, Encodable {
        var field: String
        var description: String
    }

    /// The HTTP status; usually that of `status`.
    var http: Int
    var status: GoogleStatus?
    /// In a detail of type FcmError; nil: there is none.
    var code: FCMErrorCode?
    var message: String
    /// In a detail of type BadRequest; none where it is empty.
    var violations: [Violation] = []
    /// What exactly was wrong. FCM does not say it.
    var detail: String?

    init(
        _ code: FCMErrorCode,
        _ message: String,
        violations: [Violation] = [],
        detail: String? = nil
    ) {
        http = code.status.http
        status = code.status
        self.code = code
        self.message = message
        self.violations = violations
        self.detail = detail
    }

    init(_ status: GoogleStatus, _ message: String, violations: [Violation] = [], detail: String? = nil) {
        http = status.http
        self.status = status
        self.message = message
        self.violations = violations
        self.detail = detail
    }

    /// What the JSON of a request says that the API does not know; it is refused before FCM sees it.
    static func badJSON(_ field: String, _ description: String) -> FCMRefusal {
        FCMRefusal(
            GoogleStatus.invalidArgument,
            description,
            violations: [Violation(field: field, description: description)],
            detail: description
        )
    }

    /// What FCM itself does not take of a field.
    static func badField(_ field: String, _ description: String) -> FCMRefusal {
        FCMRefusal(
            FCMErrorCode.invalidArgument,
            "Request contains an invalid argument.",
            violations: [Violation(field: field, description: description)],
            detail: "\(field): \(description)"
        )
    }

    static func invalidToken(_ detail: String) -> FCMRefusal {
        FCMRefusal(
            FCMErrorCode.invalidArgument,
            "The registration token is not a valid FCM registration token",
            violations: [Violation(field: "message.token", description: "Invalid registration token")],
            detail: detail
        )
    }

    /// What a misbehaviour orders: its reason is one of FCM's codes or a canonical one; nil: the usual of that status.
    static func ordered(_ answer: OrderedAnswer) -> FCMRefusal {
        let words = answer.message ?? "The lab was told to answer this."
        var refusal: FCMRefusal
        if let code = answer.reason.flatMap(FCMErrorCode.init(rawValue:)) {
            refusal = FCMRefusal(code, words)
        } else if let status = answer.reason.flatMap(GoogleStatus.init(rawValue:)) {
            refusal = FCMRefusal(status, words)
        } else {
            refusal = usual(for: answer.status, words)
        }
        refusal.http = answer.status
        return refusal
    }

    private static func usual(for http: Int, _ words: String) -> FCMRefusal {
        switch http {
        case 401: FCMRefusal(GoogleStatus.unauthenticated, words)
        case 403: FCMRefusal(GoogleStatus.permissionDenied, words)
        case 404, 410: FCMRefusal(FCMErrorCode.unregistered, words)
        case 429: FCMRefusal(FCMErrorCode.quotaExceeded, words)
        case 503: FCMRefusal(FCMErrorCode.unavailable, words)
        case 500...: FCMRefusal(FCMErrorCode.internal, words)
        default: FCMRefusal(FCMErrorCode.invalidArgument, words)
        }
    }

    /// What stands beside the status in the record: FCM's code, or the canonical one.
    var reason: String { code?.rawValue ?? status?.rawValue ?? "" }

    var json: [UInt8] {
        var details: [JSONValue] = []
        if let code {
            details.append(
                .object([
                    "@type": .string("type.googleapis.com/google.firebase.fcm.v1.FcmError"),
                    "errorCode": .string(code.rawValue),
                ])
            )
        }
        if !violations.isEmpty {
            let list = violations.map { violation in
                JSONValue.object([
                    "field": .string(violation.field), "description": .string(violation.description),
                ])
            }
            details.append(
                .object([
                    "@type": .string("type.googleapis.com/google.rpc.BadRequest"), "fieldViolations": .array(list),
                ])
            )
        }
        var error: [String: JSONValue] = ["code": .integer(Int64(http)), "message": .string(message)]
        error["status"] = status.map { .string($0.rawValue) }
        error["details"] = details.isEmpty ? nil : .array(details)
        return Array(JSONValue.object(["error": .object(error)]).prettyPrinted.utf8)
    }
}
