import Platforms

/// The JSON Schema of a rules file, from which editors complete and check it while it is written.
package enum RuleSchema {
    /// The schema (draft 2020-12) for these platforms. With all built-in ones it is `contrib/schema/rules.schema.json`.
    package static func text(platforms: PlatformCatalog) -> String { schema(platforms).prettyPrinted }

    private static func schema(_ platforms: PlatformCatalog) -> JSONTree {
        [
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "Carillon rules",
            "description": "What each kind of event becomes. The first rule that matches an event decides.",
            "type": "object",
            "additionalProperties": false,
            "required": ["version", "rules"],
            "properties": [
                "version": ["description": "This file's format.", "const": 1],
                "rules": [
                    "description": "The rules, in the order in which they are asked.",
                    "type": "array",
                    "items": ["$ref": "#/$defs/rule"],
                ],
                "summary": RuleKeySchema.ofSeveralEvents(
                    "What several notifications that waited for each other say together; {{count}} tells how many.",
                    platforms
                ),
                "nudge": RuleKeySchema.ofSeveralEvents(
                    "What is shown where neither who nor what may be told; {{count}} tells of how many.",
                    platforms
                ),
                "mentions": RuleKeySchema.mentions,
                "categories": [
                    "description": "The categories of buttons that the app registers itself.",
                    "type": "array",
                    "items": ["type": "string", "minLength": 1],
                    "uniqueItems": true,
                ],
            ],
            "$defs": [
                "rule": RuleKeySchema.rule(platforms),
                "match": MatchKeySchema.match,
                "action": RuleKeySchema.action,
                "text": LocalizedTextSchema.text,
                "textOrKey": LocalizedTextSchema.textOrKey,
            ],
        ]
    }
}

/// The names of signals in a rules file.
package enum SignalSchema {
    /// A regular expression of JSON Schema. `batch` is reserved for summaries.
    package static let pattern = "^(?!batch$)[a-z0-9_-]{1,32}$"
}
