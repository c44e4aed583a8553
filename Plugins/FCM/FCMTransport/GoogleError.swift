import PluginKit

/// The body of a refusal by one of Google's APIs (google.rpc.Status):
/// `{"error":{"code","message","status","details":[…]}}`.
struct GoogleError {
    /// A canonical code such as `NOT_FOUND`.
    let status: String?
    private let message: String
    /// The code in the detail of type FcmError.
    let errorCode: FCMErrorCode?
    /// The fields that the details of type BadRequest complain about.
    private let violations: [String]
    /// The exhausted quotas in the details of type QuotaFailure: subjects and descriptions.
    private let quotaViolations: [String]

    /// Bodies of proxies and overloaded servers need not be JSON. Then all members are empty.
    init(parsing body: BorrowedText) {
        let error = (try? JSONObject(parsing: body.bytes))?["error"]?.object
        status = error?["status"]?.string
        message = error?["message"]?.string ?? ""
        let details = (error?["details"]?.elements ?? []).compactMap(\.object)
        errorCode = details.lazy
            .filter { $0["@type"]?.string?.hasSuffix("google.firebase.fcm.v1.FcmError") == true }
            .compactMap { $0["errorCode"]?.string }.first.map { FCMErrorCode(rawValue: $0) ?? .unspecified }
        violations = GoogleError.entries("fieldViolations", ofType: "google.rpc.BadRequest", in: details)
            .compactMap { $0["field"]?.string }
        quotaViolations = GoogleError.entries("violations", ofType: "google.rpc.QuotaFailure", in: details)
            .flatMap { [$0["subject"]?.string, $0["description"]?.string] }.compactMap(\.self)
    }

    private static func entries(_ name: StaticString, ofType type: String, in details: [JSONObject]) -> [JSONObject] {
        details.filter { $0["@type"]?.string?.hasSuffix(type) == true }
            .flatMap { $0[name]?.elements ?? [] }.compactMap(\.object)
    }

    /// Google says that the token is not one.
    var isAboutToken: Bool {
        violations.contains("message.token") || message.contains("registration token is not a valid")
    }

    /// "Android message is too big".
    var isAboutSize: Bool { message.contains("too big") || message.contains("too large") }

    /// A device's quota is exhausted, which anybody can cause, not the project's.
    var isAboutDeviceQuota: Bool {
        !quotaViolations.isEmpty && quotaViolations.contains { $0.lowercased().contains("device") }
    }
}

/// FCM's own error codes ("ErrorCode" in the reference of its v1 API).
enum FCMErrorCode: String, CaseIterable {
    case unspecified = "UNSPECIFIED_ERROR"
    case invalidArgument = "INVALID_ARGUMENT"
    case unregistered = "UNREGISTERED"
    case senderIDMismatch = "SENDER_ID_MISMATCH"
    case quotaExceeded = "QUOTA_EXCEEDED"
    case unavailable = "UNAVAILABLE"
    case `internal` = "INTERNAL"
    /// Firebase's credentials for Apple's or the browsers' services are wrong.
    case thirdPartyAuthError = "THIRD_PARTY_AUTH_ERROR"
    /// The former name.
    case apnsAuthError = "APNS_AUTH_ERROR"

    /// Google's word in the form of an outcome's reason: `sender-id-mismatch`.
    var label: String { String(rawValue.map { $0 == "_" ? "-" : Character($0.lowercased()) }) }
}
