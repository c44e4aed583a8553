import JSON
import Nostr
import Push
import Storage

extension RuleBook {
    /// The name of the built-in rules in error messages.
    package static let defaultName = "built-in rules"

    /// The default rules: every kind that notifies by default, the other kinds of direct message, and zaps for devices
    /// that request them.
    package static func builtIn(platforms: PlatformCatalog) throws(Diagnostics) -> RuleBook {
        try RuleBook(yaml: defaultYAML(platforms: platforms), name: defaultName, platforms: platforms)
    }

    /// The built-in rules as a file, for `carillon rules default` and as a template for custom rules. The loaded
    /// platforms provide the contents of their blocks.
    package static func defaultYAML(platforms: PlatformCatalog) -> String {
        let lines = platforms.blocks.compactMap { key, platform in
            platforms[platform]?.defaultBlock.map { "    \(key): \($0.yaml)\n" }
        }
        return template.replacing("    # blocks\n", with: lines.joined())
    }

    private static let template = """
        # The notification for each kind of event. The first rule that matches decides. Without a match, nothing is sent.
        # An alert always has a body: if an event has no text to show, a default text is used.
        # `title`, `body` and the like are only for devices registered with mode `alert`, and encrypted for those with mode
        # `sealed`. Others get a neutral text (`nudge`), or a wake-up with only the signal.
        version: 1
        rules:
          - name: like
            match: { kinds: [7], content: ["+", "❤️", ""] }
            signal: reaction
            title: "⚡ {{author.name}} liked your note"
            body: "{{#event.content}}{{event.content}}{{/event.content}}{{^event.content}}❤️{{/event.content}}"
            category: "kind_7"
            # blocks

          - name: reaction
            match: { kinds: [7] }
            signal: reaction
            title: "⚡ {{author.name}} reacted to your note"
            body: "{{#event.content}}{{excerpt(event.content)}}{{/event.content}}{{^event.content}}You have a new reaction{{/event.content}}"
            category: "kind_7"
            # blocks

          - name: repost
            match: { kinds: [6, 16, 1809] }
            signal: repost
            title: "🔄 {{author.name}} reposted your note"
            body: "Your note was reposted"
            category: "kind_{{event.kind}}"
            # blocks

          - name: note
            match: { kinds: [1, 1111] }
            title: "💬 {{author.name}} sent you a note"
            body: "{{#event.content}}{{excerpt(event.content)}}{{/event.content}}{{^event.content}}You have a new note{{/event.content}}"
            category: "kind_{{event.kind}}"
            # blocks

          - name: audio-note
            match: { kinds: [1808] }
            title: "🎵 {{author.name}} shared an audio note"
            body: "New audio content available"
            category: "kind_1808"
            # blocks

          - name: follow
            match: { kinds: [3] }
            signal: follow
            title: "👤 {{author.name}} started following you"
            body: "You have a new follower"
            category: "kind_3"
            # blocks

          - name: direct-message
            match: { kinds: [1059, 21059, 4, 14] }
            signal: dm
            urgency: high
            title: "🔒 You received an encrypted message"
            body: "You have a new encrypted message"
            category: "kind_{{event.kind}}"
            # blocks

          - name: zap
            match: { kinds: [9735] }
            signal: zap
            title: "⚡ {{author.name}} zapped you {{zap.amount}} sats"
            body: "{{#zap.comment}}{{excerpt(zap.comment)}}{{/zap.comment}}{{^zap.comment}}You have a new zap{{/zap.comment}}"
            category: "kind_9735"
            # blocks

        summary: { title: "{{count}} new notifications" }

        """
}

extension JSONValue {
    /// The value as one line of YAML. Strings are unquoted if YAML reads them as strings.
    fileprivate var yaml: String {
        switch self {
        case .object(let object):
            "{ " + object.members.map { "\($0.name): \($0.value.yaml)" }.joined(separator: ", ") + " }"
        case .array(let elements): "[" + elements.map(\.yaml).joined(separator: ", ") + "]"
        case .string(let text)
        where text.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }) && text.utf8.count > 5:
            text
        default: json
        }
    }
}
