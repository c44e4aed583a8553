import Foundation

/// The JSON of a refusal by Google (google.rpc.Status).
func googleRefusal(
    _ status: String,
    _ message: String,
    errorCode: String? = nil,
    violation field: String? = nil
) -> String {
    var details: [[String: Any]] = []
    if let errorCode {
        details.append(["@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": errorCode])
    }
    if let field {
        let violation = ["field": field, "description": "Invalid value"]
        details.append(["@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": [violation]])
    }
    let error: [String: Any] = ["message": message, "status": status, "details": details]
    let json = try? JSONSerialization.data(withJSONObject: ["error": error], options: .sortedKeys)
    return String(decoding: json ?? Data(), as: UTF8.self)
}
