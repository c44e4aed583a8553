/// Members of FCM's `AndroidConfig`.
extension BlockTable {
    static let fcm = BlockTable(
        BlockKey(
            "style",
            .fixedChoice(["data", "notification"]),
            "data: the app draws the notification itself; notification: FCM does."
        ),
        BlockKey("priority", .choice(["NORMAL", "HIGH"]), "HIGH wakes a device that sleeps."),
        BlockKey(
            "ttl",
            .span(.protobuf(limit: 28 * 86_400_000)),
            "How long FCM keeps the message for a device that is off; at most four weeks."
        ),
        BlockKey("collapseKey", .text(.filled), "Of messages with this key only the last is kept."),
        BlockKey("restrictedPackageName", .text(.filled), "The one app that may receive the message."),
        BlockKey("directBootOk", .flag(.bool), "Whether the app may get it before the device is first unlocked."),
        BlockKey("bandwidthConstrainedOk", .flag(.bool), "Whether it may use a network of little bandwidth."),
        BlockKey("restrictedSatelliteOk", .flag(.bool), "Whether it may use a satellite network."),
        BlockKey("notification", .object(.fcmNotification), "How FCM shows the notification."),
        BlockKey(
            "fcmOptions",
            .object(BlockTable(BlockKey("analyticsLabel", .text(.filled), "What statistics call the message."))),
            "What FCM does besides."
        )
    )
}
