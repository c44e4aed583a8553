import Foundation
import PlatformTestSupport
import Push
import Storage

@testable import Rules

/// Every rule that the tests try: the built-in ones, the examples, and one that uses all features.
enum RuleFiles {
    private static let repository = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    static let examples = ["social", "privacy-first", "wallet-and-signer"]

    static func example(_ name: String) throws -> RuleBook {
        let file = repository.appending(path: "contrib/examples/rules/\(name).yaml")
        return try RuleBook(yaml: String(contentsOf: file, encoding: .utf8), name: file.path, platforms: .builtIn)
    }

    static func all() throws -> [Rule] {
        try RuleBook.builtIn(platforms: .builtIn).rules.filter { !$0.drops }
            + examples.flatMap { try example($0).rules.filter { !$0.drops } }
            + RuleBook(yaml: everything, name: "everything", platforms: .builtIn).rules
    }

    private static let everything = """
        version: 1
        categories: [org.example.all]
        mentions: names
        rules:
          - name: everything
            match: { kinds: [1] }
            title: "{{author.name}} {{event.content}}"
            subtitle: "{{referenced.content}} {{referenced.author.name}} {{#event.tags.t}}{{.}}{{^last()}},{{/last()}}{{/event.tags.t}}"
            body: "{{event.content}} {{referenced.content}}"
            category: "{{event.content}}"
            thread: "{{referenced.content}}"
            collapse: "{{event.content}}"
            url: "example://{{event.content}}"
            actions:
              - { id: "{{event.content}}", label: "{{author.name}}", url: "{{event.content}}", icon: "{{author.name}}" }
              - { id: second, label: Second }
            data: { content: "{{event.content}}", number: "{{number(event.tag.q)}}", field: "{{event.json.a}}", list: ["{{author.name}}", 1, true, { deep: "{{event.content}}" }] }
            expires: 4h
            apns:
              alert: { launch-image: "{{event.content}}" }
              badge: "{{event.kind}}"
              sound: "{{author.name}}"
              thread-id: "{{event.content}}"
              category: org.example.all
              actions: { org.example.one: { url: "{{event.content}}" } }
              target-content-id: "{{event.content}}"
              filter-criteria: "{{author.name}}"
              interruption-level: active
              mutable-content: 1
            fcm: { style: notification, collapseKey: "{{event.content}}", notification: { tag: "{{event.content}}" } }
            webpush: { tag: "{{event.content}}", lang: en, icon: "https://i.example/{{event.content}}" }
            unifiedpush: { more: "{{event.content}}" }
            ntfy: { tags: ["{{author.name}}"], icon: "https://i.example/x.png" }
            gotify: { image: "https://i.example/x.png", extras: { "a::b": { c: "{{event.content}}" } } }
          - name: live-activity
            match: { kinds: [7] }
            title: "{{author.name}}"
            apns:
              event: update
              timestamp: "{{event.created_at}}"
              stale-date: +4h
              content-state: { text: "{{event.content}}", sats: "{{zap.amount}}" }
          - name: call
            match: { kinds: [4] }
            title: "{{author.name}}"
            body: "{{event.content}}"
            apns: { push-type: voip }
            fcm: { priority: HIGH }
        """
}
