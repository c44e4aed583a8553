/// Checks a body of `messages:send` against what FCM's reference says of it.
enum FCMMessageCheck {
    /// Bytes of names and values of data and of what is shown.
    static let limit = 4_096

    private static let targets = ["token", "topic", "condition"]
    private static let reservedNames: Set = ["from", "message_type", "collapse_key"]
    private static let reservedPrefixes = ["google", "gcm"]

    /// The registration token that the message is for; nil for a topic or a condition.
    static func check(_ request: HTTP2Request) throws(FCMRefusal) -> String? {
        guard !request.isCut, let body = JSONValue(parsing: request.body), body.object != nil else {
            throw .badJSON("", "Invalid JSON payload received. Expected an object.")
        }
        try FCMField.sendRequest.check(body, at: "")
        guard let message = body["message"], message.object != nil else {
            throw .badField("message", "The message is not set.")
        }
        let targets = targets.filter { message[$0].map { $0 != .null } ?? false }
        guard targets.count == 1 else {
            throw targets.isEmpty
                ? .badField("message", "Recipient of the message is not set.")
                : .badJSON("message", "Invalid value at 'message' (oneof), oneof field 'target' is already set.")
        }
        for (place, data) in [("data", message["data"]), ("android.data", message["android"]?["data"])] {
            try checkNames(data, at: "message." + place)
        }
        let size = size(of: message)
        guard size <= limit else {
            throw FCMRefusal(
                FCMErrorCode.invalidArgument,
                "Android message is too big",
                detail: "data and notification have \(size) bytes, at most \(limit) are allowed"
            )
        }
        return message["token"]?.string
    }

    private static func checkNames(_ data: JSONValue?, at path: String) throws(FCMRefusal) {
        for name in (data?.object ?? [:]).keys.sorted() {
            guard !reservedNames.contains(name), !reservedPrefixes.contains(where: name.hasPrefix) else {
                throw .badField(path, "Invalid data payload key: \(name)")
            }
        }
    }

    static func size(of message: JSONValue) -> Int {
        let android = message["android"]
        let objects = [android?["data"] ?? message["data"], message["notification"], android?["notification"]]
        return objects.compactMap { $0?.object }.joined().reduce(0) { sum, member in
            sum + member.key.utf8.count + (member.value.string ?? member.value.compact).utf8.count
        }
    }
}
