import YAMLReading

/// A key of a rule that holds one platform's block.
struct PlatformKey: Sendable {
    /// As the rules file has it.
    let name: String
    /// As plugins have it.
    let platform: String
    let doc: String

    static let all = [
        PlatformKey(name: "apns", platform: "ios", doc: "Members of Apple's aps dictionary."),
        PlatformKey(name: "fcm", platform: "android", doc: "Members of FCM's android object."),
        PlatformKey(name: "webpush", platform: "web", doc: "Members of the browser's Notification."),
        PlatformKey(name: "unifiedpush", platform: "unifiedpush", doc: "Members of the message to the app."),
        PlatformKey(name: "ntfy", platform: "ntfy", doc: "Members of ntfy's message."),
        PlatformKey(name: "gotify", platform: "gotify", doc: "What Gotify's message has besides its texts."),
    ]

    func block(_ value: YAMLValue) -> JSONTemplate? {
        value.mapping() == nil ? nil : JSONTemplate(free: value)
    }
}
