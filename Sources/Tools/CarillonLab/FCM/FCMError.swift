/// Why a message is refused, in the form of Google's APIs (google.rpc.Status).
struct FCMError: Error, Equatable {
    private static let badTokenMessage = "The registration token is not a valid FCM registration token"

    /// The HTTP status, usually the one of `status`.
    var http: Int
    var status: GoogleStatus?
    var message: String
    var details: [FCMDetail]
    /// The exact error. FCM does not return it.
    var detail: String?

    init(_ code: FCMErrorCode, _ message: String? = nil, _ details: [FCMDetail] = [], detail: String? = nil) {
        http = code.status.http
        status = code.status
        self.message = message ?? code.message
        self.details = [.fcmError(code)] + details
        self.detail = detail
    }

    init(_ status: GoogleStatus, _ message: String? = nil, _ details: [FCMDetail] = [], detail: String? = nil) {
        http = status.http
        self.status = status
        self.message = message ?? status.message
        self.details = details
        self.detail = detail
    }

    /// JSON that the API does not know, which is refused before FCM sees it.
    static func badJSON(_ field: String, _ description: String) -> FCMError {
        FCMError(
            GoogleStatus.invalidArgument,
            description,
            [.badRequest(field: field, description: description)],
            detail: description
        )
    }

    /// A field that FCM itself refuses.
    static func badField(_ field: String, _ description: String) -> FCMError {
        FCMError(
            FCMErrorCode.invalidArgument,
            nil,
            [.badRequest(field: field, description: description)],
            detail: "\(field): \(description)"
        )
    }

    static func invalidToken(_ detail: String) -> FCMError {
        FCMError(
            FCMErrorCode.invalidArgument,
            badTokenMessage,
            [.badRequest(field: "message.token", description: "Invalid registration token")],
            detail: detail
        )
    }

    /// The refusal that a misbehaviour orders. Its reason is one of FCM's codes or a canonical one. Default: the usual
    /// one of the status. Each has its usual message and details.
    static func ordered(_ answer: OrderedAnswer, project: String) -> FCMError {
        var refusal =
            if let code = answer.reason.flatMap(FCMErrorCode.init(rawValue:)) ?? usual(for: answer) {
                FCMError(code, answer.message, details(code, answer, project))
            } else if let status = answer.reason.flatMap(GoogleStatus.init(rawValue:))
                ?? GoogleStatus(http: answer.status)
            {
                FCMError(status, answer.message)
            } else {
                FCMError(FCMErrorCode.unspecifiedError, answer.message)
            }
        if refusal.code == .unspecifiedError {
            refusal.status = GoogleStatus(http: answer.status)
        }
        refusal.http = answer.status
        return refusal
    }

    private static func usual(for answer: OrderedAnswer) -> FCMErrorCode? {
        guard answer.reason == nil else { return nil }
        return switch answer.status {
        case 401, 403: nil
        case 404, 410: .unregistered
        case 429: .quotaExceeded
        case 503: .unavailable
        case 500...: .internal
        default: .invalidArgument
        }
    }

    private static func details(_ code: FCMErrorCode, _ answer: OrderedAnswer, _ project: String) -> [FCMDetail] {
        switch code {
        case .quotaExceeded:
            return [.quotaFailure(subject: "project:" + project, description: "Message rate exceeded.")]
        case .thirdPartyAuthError, .apnsAuthError:
            return [.apnsError(status: 403, reason: "InvalidProviderToken")]
        case .invalidArgument:
            let isAboutToken = answer.message == badTokenMessage
            guard let field = answer.field ?? (isAboutToken ? "message.token" : nil) else { return [] }
            return [
                .badRequest(field: field, description: isAboutToken ? "Invalid registration token" : "Invalid value.")
            ]
        default: return []
        }
    }

    /// FCM's own code; nil if Google's front end refused.
    var code: FCMErrorCode? {
        details.lazy.compactMap { if case .fcmError(let code) = $0 { code } else { nil } }.first
    }

    /// The invalid fields.
    var fields: [String] {
        details.compactMap { if case .badRequest(let field, _) = $0 { field } else { nil } }
    }

    /// The reason in the record is FCM's code, or the canonical one.
    var reply: LabReply {
        var error: [String: JSONValue] = ["code": .integer(Int64(http)), "message": .string(message)]
        error["status"] = status.map { .string($0.rawValue) }
        error["details"] = details.isEmpty ? nil : .array(details.map(\.json))
        let body = Array(JSONValue.object(["error": .object(error)]).prettyPrinted.utf8)
        return LabReply(
            answer: HTTPAnswer(status: http, json: body),
            reason: code?.rawValue ?? status?.rawValue ?? "",
            detail: detail
        )
    }
}

/// One of the `details` of an error (google.rpc.Status).
enum FCMDetail: Equatable {
    case fcmError(FCMErrorCode)
    /// An invalid field.
    case badRequest(field: String, description: String)
    case quotaFailure(subject: String, description: String)
    /// APNs' response to FCM.
    case apnsError(status: Int, reason: String)

    var json: JSONValue {
        switch self {
        case .fcmError(let code):
            Self.object("google.firebase.fcm.v1.FcmError", ["errorCode": .string(code.rawValue)])
        case .badRequest(let field, let description):
            Self.object(
                "google.rpc.BadRequest",
                ["fieldViolations": Self.list(["field": field, "description": description])]
            )
        case .quotaFailure(let subject, let description):
            Self.object(
                "google.rpc.QuotaFailure",
                ["violations": Self.list(["subject": subject, "description": description])]
            )
        case .apnsError(let status, let reason):
            Self.object(
                "google.firebase.fcm.v1.ApnsError",
                ["statusCode": .integer(Int64(status)), "reason": .string(reason)]
            )
        }
    }

    private static func object(_ type: String, _ members: [String: JSONValue]) -> JSONValue {
        .object(members.merging(["@type": .string("type.googleapis.com/" + type)]) { first, _ in first })
    }

    private static func list(_ members: [String: String]) -> JSONValue {
        .array([.object(members.mapValues(JSONValue.string))])
    }
}

/// FCM's own error codes, in the detail of type FcmError ("ErrorCode").
enum FCMErrorCode: String, CaseIterable {
    case unspecifiedError = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case `internal` = "INTERNAL"
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    /// The old name of `THIRD_PARTY_AUTH_ERROR`.
    case apnsAuthError = "APNS_AUTH_ERROR"

    /// Its canonical code.
    var status: GoogleStatus {
        switch self {
        case .invalidArgument: .invalidArgument
        case .unregistered: .notFound
        case .senderIDMismatch: .permissionDenied
        case .quotaExceeded: .resourceExhausted
        case .unavailable: .unavailable
        case .internal, .unspecifiedError: .internal
        case .thirdPartyAuthError, .apnsAuthError: .unauthenticated
        }
    }

    /// FCM's message.
    var message: String {
        switch self {
        case .unspecifiedError: "Unknown error."
        case .invalidArgument: "Request contains an invalid argument."
        case .unregistered: "Requested entity was not found."
        case .senderIDMismatch: "SenderId mismatch"
        case .quotaExceeded: "Resource has been exhausted (e.g. check quota)."
        case .unavailable: "The service is currently unavailable."
        case .internal: "Internal error encountered."
        case .thirdPartyAuthError, .apnsAuthError: "Auth error from APNS or Web Push Service"
        }
    }
}

/// Google's canonical codes (google.rpc.Code) that FCM uses.
enum GoogleStatus: String, CaseIterable {
    case invalidArgument = "INVALID_ARGUMENT"
    case unauthenticated = "UNAUTHENTICATED"
    case permissionDenied = "PERMISSION_DENIED"
    case notFound = "NOT_FOUND"
    case resourceExhausted = "RESOURCE_EXHAUSTED"
    case `internal` = "INTERNAL"
    case unavailable = "UNAVAILABLE"
    case deadlineExceeded = "DEADLINE_EXCEEDED"

    var http: Int {
        switch self {
        case .invalidArgument: 400
        case .unauthenticated: 401
        case .permissionDenied: 403
        case .notFound: 404
        case .resourceExhausted: 429
        case .internal: 500
        case .unavailable: 503
        case .deadlineExceeded: 504
        }
    }

    /// The message of Google's front ends.
    var message: String {
        switch self {
        case .invalidArgument: "Request contains an invalid argument."
        case .unauthenticated:
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid "
                + "authentication credential."
        case .permissionDenied: "The caller does not have permission"
        case .notFound: "Requested entity was not found."
        case .resourceExhausted: "Resource has been exhausted (e.g. check quota)."
        case .internal: "Internal error encountered."
        case .unavailable: "The service is currently unavailable."
        case .deadlineExceeded: "Deadline expired before operation could complete."
        }
    }

    /// The code of an HTTP status; nil if there is none.
    init?(http: Int) {
        guard let status = Self.allCases.first(where: { $0.http == http }) else { return nil }
        self = status
    }
}
