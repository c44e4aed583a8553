/// Members of Apple's `aps` dictionary (seed 003, and Apple's "Generating a remote notification"), and what steers the
/// request around it.
extension BlockTable {
    static let apns = BlockTable(
        [
            BlockKey(
                "alert",
                .either(.text(.lines), orObject: .apnsAlert),
                "What is shown; a dictionary is merged into the rule's texts, a text takes their place."
            ),
            BlockKey("badge", .whole(0...Int(Int32.max)), "The number on the app's icon; 0 removes it."),
            BlockKey(
                "sound",
                .either(.text(.filled), orObject: .apnsCriticalSound),
                "A sound file of the app, 'default', or a dictionary for a critical alert."
            ),
            BlockKey("thread-id", .text(.any), "Groups notifications; the rule's 'thread' unless given."),
            BlockKey("category", .text(.filled), "The category of buttons that the app registered."),
            BlockKey("content-available", .flag(.oneOrZero), "1 wakes the app in the background."),
            BlockKey(
                "mutable-content",
                .flag(.oneOrZero),
                "1 lets the app's notification service extension change the notification before it is shown."
            ),
            BlockKey("target-content-id", .text(.any), "The window that is brought forward."),
            BlockKey(
                "interruption-level",
                .choice(["passive", "active", "time-sensitive", "critical"]),
                "How much the notification may interrupt."
            ),
            BlockKey(
                "relevance-score",
                .number(BlockValueType.anyNumber),
                "Ranks the app's notifications in the summary, from 0 to 1; Live Activities by any number."
            ),
            BlockKey("filter-criteria", .text(.any), "What a Focus filter compares with."),
            BlockKey(
                "content-changed",
                .flag(.bool),
                "Widgets and controls: that they should ask for what is new; theirs always have it."
            ),
            BlockKey("url-args", .list(of: .text(.any), 0...32), "Safari website pushes: what goes into the URL."),
        ] + liveActivity + apnsSteering
    )

    private static let apnsSteering = [
        BlockKey(
            "push-type",
            .fixedChoice(APNsPushType.allCases.map(\.rawValue)),
            "What kind of push this is; follows from the other keys unless given. Each but alert and background goes to a "
                + "token of its own; devices without one get the alert."
        ),
        BlockKey("priority", .oneOf([1, 5, 10]), "10: at once, 5: when the device's power allows, 1: power first."),
        BlockKey(
            "actions",
            .dictionary(of: .object(BlockTable(BlockKey("url", .text(.absoluteURL), "What this button opens.")))),
            "By the identifier of a button of 'category', what that button opens."
        ),
        BlockKey("_k", .text(.filled), "The notification's unique identifier for the app; ours unless given."),
    ]

    static let apnsCriticalSound = BlockTable(
        BlockKey("critical", .flag(.oneOrZero), "1 plays the sound although the device is muted; needs Apple's leave."),
        BlockKey("name", .text(.filled), "A sound file of the app, or 'default'."),
        BlockKey("volume", .number(0...1), "From 0, silent, to 1, loud.")
    )
}
