extension BlockValueType {
    /// A schema for what is read as this type; always an object.
    var schema: JSONTree {
        switch self {
        case .text(let form): form.schema
        case .textOrNull: ["type": ["string", "null"]]
        case .flag(let form): ["anyOf": [["enum": form.schemaChoices], Self.numericTemplate]]
        case .whole(let range):
            [
                "anyOf": [
                    Self.bounded("integer", Double(range.lowerBound), Double(range.upperBound)), Self.numericTemplate,
                ]
            ]
        case .oneOf(let numbers): ["enum": .list(numbers.map { .number(Double($0)) })]
        case .number(let range):
            [
                "anyOf": [
                    range == Self.anyNumber
                        ? ["type": "number"] : Self.bounded("number", range.lowerBound, range.upperBound),
                    Self.numericTemplate,
                ]
            ]
        case .choice(let choices):
            ["anyOf": [["enum": .texts(choices)], ["type": "string", "pattern": .text(TextForm.templatePattern)]]]
        case .fixedChoice(let choices): ["enum": .texts(choices)]
        case .moment:
            [
                "anyOf": [
                    Self.bounded("integer", 0, Double(MomentForm.range.upperBound / 1000)),
                    ["type": "string", "pattern": .text(MomentTemplate.pattern)],
                ]
            ]
        case .span:
            [
                "anyOf": [
                    ["type": "integer", "minimum": 0], ["type": "string", "pattern": .text(SpanForm.pattern)],
                ]
            ]
        case .list(let type, let count):
            [
                "type": "array", "minItems": .number(Double(count.lowerBound)),
                "maxItems": .number(Double(count.upperBound)), "items": type.schema,
            ]
        case .object(let table): table.schema
        case .dictionary(let type): ["type": "object", "additionalProperties": type.schema]
        case .freeObject, .completeObject: ["type": "object"]
        case .either(let type, let table): ["anyOf": [type.schema, table.schema]]
        }
    }

    private static let numericTemplate: JSONTree = ["type": "string", "pattern": .text(NumericVariable.pattern)]

    private static func bounded(_ type: String, _ least: Double, _ most: Double) -> JSONTree {
        ["type": .text(type), "minimum": .number(least), "maximum": .number(most)]
    }
}

extension TextForm {
    /// What has variables in it, for which no form is asked.
    static let templatePattern = #"\{\{"#

    /// A text of this form. What YAML takes for a number or a flag is text where text is wanted.
    var schema: JSONTree {
        switch self {
        case .any, .lines: ["type": ["string", "number", "boolean"]]
        case .filled: ["type": ["string", "number", "boolean"], "minLength": 1]
        case .absoluteURL, .webURL, .picture, .color, .base64, .topic:
            ["type": "string", "pattern": .text("\(Self.templatePattern)|\(pattern)")]
        }
    }
}

extension FlagForm {
    fileprivate var schemaChoices: JSONTree {
        switch self {
        case .bool: [true, false]
        case .oneOrZero: [1, 0, true, false]
        case .yesOrNo: ["yes", "no", true, false]
        }
    }
}
