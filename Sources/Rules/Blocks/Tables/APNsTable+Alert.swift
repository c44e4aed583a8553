extension BlockTable {
    /// Members of `aps.alert`. Live Activities have sounds and localised texts in other places than ordinary alerts.
    static let apnsAlert = BlockTable(
        BlockKey("title", .either(.text(.any), orObject: localized), "In place of the rule's title."),
        BlockKey("subtitle", .text(.any), "In place of the rule's subtitle."),
        BlockKey("body", .either(.text(.lines), orObject: localized), "In place of the rule's body."),
        BlockKey("launch-image", .text(.filled), "A picture of the app, shown while it starts."),
        BlockKey("title-loc-key", .text(.filled), "The title, as a key of the app's own texts."),
        BlockKey("title-loc-args", arguments, "What goes into the text of title-loc-key."),
        BlockKey("subtitle-loc-key", .text(.filled), "The subtitle, as a key of the app's own texts."),
        BlockKey("subtitle-loc-args", arguments, "What goes into the text of subtitle-loc-key."),
        BlockKey("loc-key", .text(.filled), "The body, as a key of the app's own texts."),
        BlockKey("loc-args", arguments, "What goes into the text of loc-key."),
        BlockKey("action-loc-key", .textOrNull, "Old: the button's label as a key of the app's texts; null hides it."),
        BlockKey("action", .text(.any), "Old: the label of the button on Safari website pushes."),
        BlockKey("summary-arg", .text(.any), "Old: what the summary of a group names."),
        BlockKey("summary-arg-count", .whole(1...Int(Int32.max)), "Old: how many the summary counts this for."),
        BlockKey(
            "sound",
            .either(.text(.filled), orObject: apnsCriticalSound),
            "Live Activities: the sound; ordinary alerts have it beside 'alert'."
        )
    )

    private static let arguments = BlockValueType.list(of: .text(.any), 0...32)

    private static let localized = BlockTable(
        BlockKey("loc-key", .text(.filled), "Live Activities: a key of the app's own texts."),
        BlockKey("loc-args", arguments, "Live Activities: what goes into the text of loc-key.")
    )
}
