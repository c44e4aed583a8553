extension FCMField {
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
        "fcmOptions": .message([
            "link": .pattern("https://.+", expected: "an https URL"), "analyticsLabel": label,
        ]),
    ])

    private static let apns = FCMField.message([
        "headers": .texts, "payload": .free, "liveActivityToken": .text,
        "fcmOptions": .message(["analyticsLabel": label, "image": .text]),
    ])

    private static let label = FCMField.pattern(
        "[a-zA-Z0-9._~%-]{1,50}",
        expected: "1 to 50 letters, digits and ._~%-"
    )
}
