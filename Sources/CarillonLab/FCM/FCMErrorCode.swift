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

    /// The canonical code that goes with it.
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

    /// What FCM says beside it.
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
