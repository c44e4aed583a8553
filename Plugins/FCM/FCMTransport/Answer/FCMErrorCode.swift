/// FCM's own error codes ("ErrorCode", the reference of its v1 API).
enum FCMErrorCode: String, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case `internal` = "INTERNAL"
    /// The credentials that Firebase holds for Apple's or the browsers' services are bad.
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    /// What that was called once.
    case apnsAuthError = "APNS_AUTH_ERROR"

    /// Google's word as an outcome's: `sender-id-mismatch`.
    var label: String { String(rawValue.map { $0 == "_" ? "-" : Character($0.lowercased()) }) }
}
