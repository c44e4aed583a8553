extension BlockTable {
    /// FCM's `AndroidNotification`.
    static let fcmNotification = BlockTable(
        BlockKey("title", .text(.any), "In place of the rule's title."),
        BlockKey("body", .text(.lines), "In place of the rule's body."),
        BlockKey("icon", .text(.filled), "The icon, as a drawable of the app."),
        BlockKey("color", .text(.color), "The icon's colour."),
        BlockKey("sound", .text(.filled), "A sound of the app, or 'default'."),
        BlockKey("tag", .text(.filled), "Replaces what is shown under the same tag."),
        BlockKey("clickAction", .text(.filled), "The intent that a tap starts."),
        BlockKey("bodyLocKey", .text(.filled), "The body, as a string resource of the app."),
        BlockKey("bodyLocArgs", arguments, "What goes into the text of bodyLocKey."),
        BlockKey("titleLocKey", .text(.filled), "The title, as a string resource of the app."),
        BlockKey("titleLocArgs", arguments, "What goes into the text of titleLocKey."),
        BlockKey("channelId", .text(.filled), "The notification channel."),
        BlockKey("ticker", .text(.any), "What is read aloud to people who hear their screen."),
        BlockKey("sticky", .flag(.bool), "Whether it stays when it is tapped."),
        BlockKey("eventTime", .moment(.rfc3339), "When what it tells of happened."),
        BlockKey("localOnly", .flag(.bool), "Whether it stays off the person's other devices."),
        BlockKey(
            "notificationPriority",
            .choice(["UNSPECIFIED", "MIN", "LOW", "DEFAULT", "HIGH", "MAX"].map { "PRIORITY_" + $0 }),
            "How much it may interrupt on Android 7 and earlier."
        ),
        BlockKey("defaultSound", .flag(.bool), "Whether it has the device's own sound."),
        BlockKey("defaultVibrateTimings", .flag(.bool), "Whether it vibrates as the device does by itself."),
        BlockKey("defaultLightSettings", .flag(.bool), "Whether it lights as the device does by itself."),
        BlockKey("vibrateTimings", .list(of: duration, 1...32), "Pauses and vibrations in turn, a pause first."),
        BlockKey(
            "visibility",
            .choice(["VISIBILITY_UNSPECIFIED", "PRIVATE", "PUBLIC", "SECRET"]),
            "What a locked screen shows."
        ),
        BlockKey("notificationCount", .whole(0...Int(Int32.max)), "How many the number on the icon counts this for."),
        BlockKey("lightSettings", .object(lightSettings), "How the device's light blinks."),
        BlockKey("image", .text(.webURL), "A picture, of at most 1 MB."),
        BlockKey(
            "proxy",
            .choice(["PROXY_UNSPECIFIED", "ALLOW", "DENY", "IF_PRIORITY_LOWERED"]),
            "Whether another app may show it in this one's place."
        ),
        BlockKey("bypassProxyNotification", .flag(.bool), "Old: whether no other app may show it in this one's place.")
    )

    private static let arguments = BlockValueType.list(of: .text(.any), 0...32)
    private static let duration = BlockValueType.span(.protobuf(limit: 3_600_000))

    private static let lightSettings = BlockTable(
        BlockKey(
            "color",
            .object(
                BlockTable(
                    ["red", "green", "blue", "alpha"].map {
                        BlockKey($0, .number(0...1), "How much \($0), from 0 to 1.")
                    }
                )
            ),
            "The light's colour."
        ),
        BlockKey("lightOnDuration", duration, "How long it is on."),
        BlockKey("lightOffDuration", duration, "How long it is off between.")
    )
}
