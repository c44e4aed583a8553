import YAMLReading

/// A key of a rule that holds one platform's block.
struct PlatformKey: Sendable {
    /// As the rules file has it.
    let name: String
    /// As plugins have it.
    let platform: String
    /// Nil: whatever is there goes.
    let table: BlockTable?
    /// What its pushes are to pacing.
    var pushes = PushTable.ofTexts
    /// One sentence for those who write rules.
    let doc: String

    static let apns = PlatformKey(
        name: "apns",
        platform: "ios",
        table: .apns,
        pushes: .apns,
        doc: "What Apple's devices get: members of the aps dictionary, which are merged into ours last."
    )

    static let webPush = PlatformKey(
        name: "webpush",
        platform: "web",
        table: .webPush,
        doc: "What browsers get: members of the Notification, and how the push service treats it."
    )

    static let fcm = PlatformKey(
        name: "fcm",
        platform: "android",
        table: .fcm,
        pushes: .fcm,
        doc: "What Android devices get through FCM: members of the message's android object."
    )

    static let all = [
        apns,
        fcm,
        webPush,
        PlatformKey(
            name: "unifiedpush",
            platform: "unifiedpush",
            table: nil,
            doc: "Further members of the message that an app gets through UnifiedPush."
        ),
        PlatformKey(
            name: "ntfy",
            platform: "ntfy",
            table: .ntfy,
            doc: "Further members of the message that ntfy shows."
        ),
        PlatformKey(
            name: "gotify",
            platform: "gotify",
            table: .gotify,
            doc: "What Gotify's message has besides its texts."
        ),
    ]

    /// Nil, with the mistake noted, when `value` is no block.
    func block(_ value: YAMLValue) -> JSONTemplate? {
        if let table { JSONTemplate(value, table: table) } else { JSONTemplate(value, .freeObject) }
    }
}
