extension BlockTable {
    /// Members of the message that ntfy's JSON interface takes, texts apart.
    static let ntfy = BlockTable(
        BlockKey("priority", .whole(1...5), "From 1, least, to 5, most; 3 is the default."),
        BlockKey("tags", .list(of: .text(.filled), 0...32), "Labels; what names an emoji is shown as one."),
        BlockKey("icon", .text(.webURL), "A picture beside the message."),
        BlockKey("attach", .text(.webURL), "A file to attach, by its URL."),
        BlockKey("filename", .text(.filled), "The attached file's name."),
        BlockKey("click", .text(.absoluteURL), "What a tap opens, in place of the rule's url."),
        BlockKey("actions", .list(of: .object(ntfyAction), 1...3), "Up to three buttons, in place of the rule's."),
        BlockKey("markdown", .flag(.bool), "Whether the text is Markdown."),
        BlockKey("email", .text(.filled), "An e-mail address that gets the message, too."),
        BlockKey("call", .text(.filled), "A telephone number that is called and told the message, or 'yes'."),
        BlockKey(
            "delay",
            .text(.filled),
            "Hold it back: a moment or a length of time in ntfy's words, 10 s to 3 days."
        ),
        BlockKey("cache", .flag(.yesOrNo), "no: the server keeps no copy."),
        BlockKey("firebase", .flag(.yesOrNo), "no: the message does not pass through Google.")
    )

    private static let ntfyAction = BlockTable(
        BlockKey("action", .fixedChoice(["view", "http", "broadcast"]), "Open a URL, ask one, or tell other apps."),
        BlockKey("label", .text(.filled), isRequired: true, "The text on the button."),
        BlockKey("url", .text(.absoluteURL), isRequired: true, "What is opened or asked."),
        BlockKey("clear", .flag(.bool), "Whether a tap takes the message away."),
        BlockKey(
            "method",
            .choice(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]),
            "http: how it is asked; POST unless given."
        ),
        BlockKey("headers", .dictionary(of: .text(.any)), "http: header fields."),
        BlockKey("body", .text(.lines), "http: what is sent."),
        BlockKey("intent", .text(.filled), "broadcast: the Android intent."),
        BlockKey("extras", .dictionary(of: .text(.any)), "broadcast: the intent's extras.")
    )
}
