extension BlockTable {
    /// The members of `aps` that only Live Activities have.
    static let liveActivity = [
        BlockKey(
            "event",
            alias: "events",
            .fixedChoice(["start", "update", "end"]),
            "What becomes of the Live Activity."
        ),
        BlockKey(
            "content-state",
            .completeObject,
            isRequired: true,
            "The Live Activity's new state, as the app decodes it; what variables leave incomplete is not sent."
        ),
        BlockKey("stale-date", .moment(.unixSeconds), "When the Live Activity becomes stale."),
        BlockKey(
            "dismissal-date",
            .moment(.unixSeconds),
            "When an ended Live Activity goes away; up to 4h unless given."
        ),
        BlockKey(
            "timestamp",
            .moment(.unixSeconds),
            "When this was made; what is older than the last is ignored. Now unless given."
        ),
        BlockKey("attributes-type", .text(.filled), isRequired: true, "The Live Activity's type, to start one."),
        BlockKey(
            "attributes",
            .completeObject,
            isRequired: true,
            "The Live Activity's fixed content, to start one; what variables leave incomplete is not sent."
        ),
        BlockKey(
            "input-push-token",
            .flag(.oneOrZero),
            "1 asks for a token to update what is started; iOS 18 and later."
        ),
        BlockKey(
            "input-push-channel",
            .text(.base64),
            "The broadcast channel that what is started listens to; iOS 18 and later."
        ),
    ]
}
