/// A key of a platform's block that says how a notification makes itself noticed, and nothing of what it is about. A
/// stricter mode keeps its value where that is the same for every event.
struct PresentationKey: Sendable {
    let name: String
    /// The values as JSON from the quietest to the loudest, where they have such an order.
    var order: [String] = []
    /// What counts as the value where the key is missing, one of `order`.
    var absent: String?
    /// Whether the key can make a notification louder by being there.
    var isLoud = false
    /// Whether its value may tell one rule from another: a sealed push keeps it only where all rules say the same.
    var tellsRule = false
    /// What stands in place of such a value on the outside of a sealed push, as JSON; nil: nothing.
    var sealed: String?
    /// Of a key that holds an object.
    var members: [PresentationKey] = []

    static func loud(_ name: String, order: [String] = [], absent: String? = nil) -> PresentationKey {
        PresentationKey(name: name, order: order, absent: absent, isLoud: true)
    }

    /// By platform.
    static let all: [String: [PresentationKey]] = [
        "ios": [
            PresentationKey(name: "sound", isLoud: true, tellsRule: true, sealed: #""default""#),
            PresentationKey(name: "badge"),
            .loud(
                "interruption-level",
                order: [#""passive""#, #""active""#, #""time-sensitive""#, #""critical""#],
                absent: #""active""#
            ),
            PresentationKey(name: "category", tellsRule: true),
            .loud("priority", order: ["1", "5", "10"]),
        ],
        "android": [
            .loud("priority", order: [#""NORMAL""#, #""HIGH""#]),
            PresentationKey(
                name: "notification",
                members: [
                    "channelId", "icon", "color", "sound", "defaultSound", "vibrateTimings", "defaultVibrateTimings",
                    "notificationPriority", "notificationCount", "visibility",
                ].map { PresentationKey(name: $0, tellsRule: true) }
            ),
        ],
        "web": [
            .loud("silent", order: ["true", "false"], absent: "false"),
            .loud("vibrate"),
            .loud("urgency", order: [#""very-low""#, #""low""#, #""normal""#, #""high""#]),
            PresentationKey(name: "app_badge"),
        ],
        "ntfy": [.loud("priority", order: (1...5).map(String.init))],
        "gotify": [.loud("priority", order: (0...10).map(String.init))],
    ]

    /// Where a person sees wake-ups, and these keys say how.
    static let platformsThatShowWakeUps: Set = ["ntfy", "gotify"]
}
