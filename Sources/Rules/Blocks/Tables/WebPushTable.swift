/// Members of the browser's Notification (Notifications API, Declarative Web Push), and what steers the request (RFC 8030).
extension BlockTable {
    static let webPush = BlockTable(
        BlockKey("lang", .text(.filled), "The texts' language, such as de."),
        BlockKey("dir", .choice(["auto", "ltr", "rtl"]), "Which way the texts are written."),
        BlockKey("tag", .text(.any), "Replaces what is shown under the same tag."),
        BlockKey("image", .text(.picture), "The URL of a picture."),
        BlockKey("icon", .text(.picture), "The URL of the icon."),
        BlockKey("badge", .text(.picture), "The URL of a small picture for where there is little room."),
        BlockKey("vibrate", .list(of: .whole(0...60_000), 1...32), "Milliseconds of vibration and pause in turn."),
        BlockKey("timestamp", .moment(.unixMilliseconds), "When what it tells of happened."),
        BlockKey("renotify", .flag(.bool), "Whether replacing one under the same tag makes itself heard again."),
        BlockKey("silent", .flag(.bool), "Whether it neither sounds nor vibrates."),
        BlockKey("requireInteraction", .flag(.bool), "Whether it stays until somebody acts."),
        BlockKey("navigate", .text(.absoluteURL), "What a tap opens, in place of the rule's url."),
        BlockKey(
            "declarative",
            .flag(.bool),
            "Whether browsers may show it without a service worker; true unless given, where there is a url."
        ),
        BlockKey("mutable", .flag(.bool), "Whether a service worker may change it before it is shown."),
        BlockKey("app_badge", .whole(0...Int(Int32.max)), "The number on the app's icon."),
        BlockKey("topic", .text(.topic), "Replaces what the push service still keeps under the same topic."),
        BlockKey(
            "ttl",
            .span(.seconds(limit: 30 * 86_400_000)),
            "How long the push service keeps it for a browser that is off; at most thirty days."
        ),
        BlockKey("urgency", .choice(["very-low", "low", "normal", "high"]), "How soon a device should be bothered.")
    )
}
