import YAMLReading

/// What no single key of an `ntfy` block shows to be wrong: ntfy answers such a message with 400, and nobody gets it.
enum NtfyBlockChecks {
    static func check(_ block: YAMLMapping) {
        checkDelay(block)
        guard let actions = block["actions"], actions.isList else { return }
        for action in actions.list() ?? [] where action.isMapping {
            action.mapping().map(check(action:))
        }
    }

    /// What is held back is kept by the server, and goes by no other way when its time comes.
    private static func checkDelay(_ block: YAMLMapping) {
        guard block["delay"] != nil else { return }
        if let cache = block["cache"], cache.isOff {
            cache.mistake("what has a 'delay' must be kept until then")
        }
        for key in ["email", "call"] {
            block[key]?.mistake("ntfy does not take this together with 'delay'")
        }
    }

    private static func check(action: YAMLMapping) {
        guard let type = action.require("action", "view, http or broadcast")?.literal,
            action.require("label", "the text on the button") != nil
        else { return }
        switch type {
        case "broadcast":
            for key in ["url", "method", "headers", "body"] { action[key]?.mistake("a broadcast has none") }
        case "http":
            _ = action.require("url", "what is asked")
            if let method = action["method"]?.literal, ["GET", "HEAD"].contains(method) {
                action["body"]?.mistake("\(method) sends nothing")
            }
        default:
            _ = action.require("url", "what is opened")
        }
    }
}
