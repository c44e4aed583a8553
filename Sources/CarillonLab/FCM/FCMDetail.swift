/// One of the `details` of an error (google.rpc.Status).
enum FCMDetail: Equatable {
    case fcmError(FCMErrorCode)
    /// What is wrong with which field.
    case badRequest(field: String, description: String)
    case quotaFailure(subject: String, description: String)
    /// What APNs said to FCM.
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
