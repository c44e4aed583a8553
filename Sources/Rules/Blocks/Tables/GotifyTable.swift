extension BlockTable {
    /// What Gotify's message has besides its texts.
    static let gotify = BlockTable(
        BlockKey(
            "priority",
            .whole(0...10),
            "0: unseen, 1 to 3: an icon, 4 to 7: a sound, 8 to 10: a vibration besides."
        ),
        BlockKey("markdown", .flag(.bool), "Whether the text is Markdown."),
        BlockKey("image", .text(.webURL), "A large picture."),
        BlockKey("intent", .text(.absoluteURL), "What the app opens by itself when the message comes."),
        BlockKey("extras", .freeObject, "Further extras, by their whole names such as client::display.")
    )
}
