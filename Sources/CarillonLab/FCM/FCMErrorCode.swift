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

/// Those of Google's canonical codes (google.rpc.Code) that FCM uses.
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
