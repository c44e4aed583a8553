import Foundation

/// The type of a field of FCM's messages, in the JSON of Google's APIs.
indirect enum FCMField: Sendable {
    case text
    case bool
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    /// Seconds and `s`, in milliseconds: `3.5s`.
    case duration(ClosedRange<Int64>)
    /// RFC 3339.
    case timestamp
    case choice([String])
    /// A text that matches a pattern as a whole.
    case pattern(String, expected: String)
    case list(FCMField)
    /// An object whose members are texts.
    case texts
    /// Any object.
    case free
    case message([String: FCMField])

    /// Throws for the first error. `path` is the place of the value.
    func check(_ value: JSONValue, at path: String) throws(FCMError) {
        // null means that the field is absent.
        if value == .null { return }
        switch (self, value) {
        case (.text, .string), (.bool, .bool), (.free, .object): break
        case (.integer(let range), .integer(let number)):
            guard range.contains(number) else { throw .badField(path, "Out of range.") }
        case (.number(let range), .integer(let number)):
            guard range.contains(Double(number)) else { throw .badField(path, "Out of range.") }
        case (.number(let range), .number(let number)):
            guard range.contains(number) else { throw .badField(path, "Out of range.") }
        case (.duration(let range), .string(let text)):
            guard let duration = Self.milliseconds(text) else { throw Self.invalid(value, path, "Duration") }
            guard range.contains(duration) else { throw .badField(path, "The duration is out of range.") }
        case (.timestamp, .string(let text)):
            guard text.wholeMatch(of: /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})/) != nil
            else {
                throw Self.invalid(value, path, "Timestamp")
            }
        case (.choice(let words), .string(let text)):
            guard words.contains(text) else { throw Self.invalid(value, path, "TYPE_ENUM") }
        case (.pattern(let pattern, let expected), .string(let text)):
            guard let regex = try? Regex(pattern), text.wholeMatch(of: regex) != nil else {
                throw .badField(path, "Expected \(expected).")
            }
        case (.list(let element), .array(let values)):
            for (index, value) in values.enumerated() {
                try element.check(value, at: "\(path)[\(index)]")
            }
        case (.texts, .object(let members)):
            for (index, (_, value)) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                guard value.string != nil else { throw Self.invalid(value, "\(path)[\(index)].value", "TYPE_STRING") }
            }
        case (.message(let fields), .object(let members)):
            for (name, value) in members.sorted(by: { $0.key < $1.key }) {
                guard let field = fields[name] ?? fields[Self.lowerCamelCase(name)] else {
                    throw .badJSON(
                        path,
                        "Invalid JSON payload received. Unknown name \"\(name)\" at '\(path)': Cannot find field."
                    )
                }
                try field.check(value, at: path.isEmpty ? name : "\(path).\(name)")
            }
        default: throw Self.invalid(value, path, typeName)
        }
    }

    /// Google's APIs accept `collapse_key` for `collapseKey`.
    static func lowerCamelCase(_ name: String) -> String {
        let words = name.split(separator: "_", omittingEmptySubsequences: false)
        return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }

    /// Nil for an invalid duration.
    private static func milliseconds(_ text: String) -> Int64? {
        guard let match = text.wholeMatch(of: /(\d{1,12})(?:\.(\d{1,9}))?s/), let seconds = Int64(match.1) else {
            return nil
        }
        let fraction = (match.2.map(String.init) ?? "").padding(toLength: 3, withPad: "0", startingAt: 0)
        return seconds * 1_000 + (Int64(fraction) ?? 0)
    }

    private static func invalid(_ value: JSONValue, _ path: String, _ type: String) -> FCMError {
        .badJSON(path, "Invalid value at '\(path)' (\(type)), \(value.prettyPrinted.prefix(64))")
    }

    private var typeName: String {
        switch self {
        case .text, .pattern: "TYPE_STRING"
        case .bool: "TYPE_BOOL"
        case .integer: "TYPE_INT32"
        case .number: "TYPE_FLOAT"
        case .duration: "Duration"
        case .timestamp: "Timestamp"
        case .choice: "TYPE_ENUM"
        case .list: "repeated"
        case .texts, .free, .message: "an object"
        }
    }

    /// The body of `messages:send` ("Method: projects.messages.send").
    static let sendRequest = FCMField.message(["validateOnly": .bool, "message": message])

    private static let message = FCMField.message([
        "name": .text, "token": .text, "topic": .text, "condition": .text, "data": .texts,
        "notification": .message(["title": .text, "body": .text, "image": .text]),
        "android": android, "webpush": webPush, "apns": apns, "fcmOptions": .message(["analyticsLabel": label]),
    ])

    private static let android = FCMField.message([
        "collapseKey": .text, "priority": .choice(["NORMAL", "HIGH"]), "ttl": .duration(0...2_419_200_000),
        "restrictedPackageName": .text, "data": .texts, "notification": androidNotification,
        "fcmOptions": .message(["analyticsLabel": label]), "directBootOk": .bool, "bandwidthConstrainedOk": .bool,
        "restrictedSatelliteOk": .bool,
    ])

    private static let androidNotification = FCMField.message([
        "title": .text, "body": .text, "icon": .text,
        "color": .pattern("#[0-9a-fA-F]{6}", expected: "a color as #rrggbb"), "sound": .text, "tag": .text,
        "clickAction": .text, "bodyLocKey": .text, "bodyLocArgs": .list(.text), "titleLocKey": .text,
        "titleLocArgs": .list(.text), "channelId": .text, "ticker": .text, "sticky": .bool, "eventTime": .timestamp,
        "localOnly": .bool,
        "notificationPriority": .choice([
            "PRIORITY_UNSPECIFIED", "PRIORITY_MIN", "PRIORITY_LOW", "PRIORITY_DEFAULT", "PRIORITY_HIGH", "PRIORITY_MAX",
        ]),
        "defaultSound": .bool, "defaultVibrateTimings": .bool, "defaultLightSettings": .bool,
        "vibrateTimings": .list(.duration(0...3_600_000)),
        "visibility": .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
        "notificationCount": .integer(0...Int64(Int32.max)),
        "lightSettings": .message([
            "color": .message([
                "red": .number(0...1), "green": .number(0...1), "blue": .number(0...1), "alpha": .number(0...1),
            ]),
            "lightOnDuration": .duration(0...3_600_000), "lightOffDuration": .duration(0...3_600_000),
        ]),
        "image": .text, "proxy": .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
        "bypassProxyNotification": .bool,
    ])

    private static let webPush = FCMField.message([
        "headers": .texts, "data": .texts, "notification": .free,
        "fcmOptions": .message(["link": .pattern("https://.+", expected: "an https URL"), "analyticsLabel": label]),
    ])

    private static let apns = FCMField.message([
        "headers": .texts, "payload": .free, "liveActivityToken": .text,
        "fcmOptions": .message(["analyticsLabel": label, "image": .text]),
    ])

    private static let label = FCMField.pattern("[a-zA-Z0-9._~%-]{1,50}", expected: "1 to 50 letters, digits and ._~%-")
}
