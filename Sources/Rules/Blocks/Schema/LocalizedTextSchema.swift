/// The schema of texts that may be given in several languages.
enum LocalizedTextSchema {
    /// A language, perhaps a script, perhaps a region, which is all of a tag that is looked at.
    static let languagePattern = "[A-Za-z]{2,3}([-_][A-Za-z]{4})?([-_]([A-Za-z]{2}|[0-9]{3}))?"

    /// A text, or one for each language.
    static let text: JSONTree = ["anyOf": [["type": "string"], byLanguage([:])]]

    /// The same, or one that the app has itself.
    static let textOrKey: JSONTree = [
        "anyOf": [
            ["type": "string"],
            byLanguage([
                "loc-key": ["description": "The name of a text that the app has itself.", "type": "string"],
                "loc-args": [
                    "description": "What goes into that text.",
                    "type": "array",
                    "items": ["type": "string"],
                ],
            ]),
        ]
    ]

    static func reference(_ description: String, _ definition: String) -> JSONTree {
        ["description": .text(description), "$ref": .text("#/$defs/\(definition)")]
    }

    private static func byLanguage(_ further: JSONTree) -> JSONTree {
        let fallback: JSONTree = ["description": "The text for every other language.", "type": "string"]
        return [
            "type": "object",
            "required": ["default"],
            "properties": .object([("default", fallback)] + further.members),
            "patternProperties": [
                "^(?!loc-(key|args)$)\(languagePattern)$": [
                    "description": "The text in this language, which is a tag such as de, pt-BR or zh-Hant.",
                    "type": "string",
                ]
            ],
            "additionalProperties": false,
        ]
    }
}
