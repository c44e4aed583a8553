import PluginKit

/// The body of a refusal by one of Google's APIs (google.rpc.Status): `{"error":{"code","message","status","details":[…]}}`.
struct GoogleError {
    /// A canonical code such as `NOT_FOUND`.
    let status: String?
    let message: String
    /// The code in the detail of type FcmError.
    let errorCode: FCMErrorCode?
    /// The fields that the details of type BadRequest complain about.
    let violations: [String]
    /// What the details of type QuotaFailure say is used up: whose quota, and in a sentence which.
    let quotaViolations: [String]

    /// Bodies of proxies and overloaded servers need not be JSON: then nothing is known.
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

    /// Google does not take the token for one, whoever's it is.
    var isAboutToken: Bool {
        violations.contains("message.token") || message.contains("registration token is not a valid")
    }

    /// "Android message is too big".
    var isAboutSize: Bool { message.contains("too big") || message.contains("too large") }

    /// One device got more than its share, which anybody can bring about, and not the project.
    var isAboutDeviceQuota: Bool {
        !quotaViolations.isEmpty && quotaViolations.contains { $0.lowercased().contains("device") }
    }
}
