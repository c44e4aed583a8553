import Core
import JSON
import Push

extension ObjectSchema {
    /// A JSON Schema of the values that rules may contain here.
    var jsonSchema: JSONValue {
        var properties: [(key: String, value: JSONValue)] = []
        for key in keys {
            let members = key.schema.jsonSchema.members
            properties.append((key.name, .members([("description", .string(key.doc))] + members)))
            guard let alias = key.alias else { continue }
            let doc = JSONValue.string("The same as '\(key.name)'.")
            properties.append((alias, .members([("description", doc), ("deprecated", true)] + members)))
        }
        guard !isOpen || !keys.isEmpty else { return ["type": "object"] }
        return .members(
            [("type", "object"), ("additionalProperties", .bool(isOpen))]
                + (required.isEmpty ? [] : [("required", .texts(required))])
                + [("properties", .members(properties))]
        )
    }
}

extension ValueSchema {
    /// A JSON Schema of the values that rules may contain here; always an object.
    fileprivate var jsonSchema: JSONValue {
        switch self {
        case .text(let text): TextForm(text).jsonSchema
        case .textOrNull: ["type": ["string", "null"]]
        case .flag(let spelling): ["anyOf": [["enum": spelling.schemaChoices], Self.numericTemplate]]
        case .integer(let range):
            [
                "anyOf": [
                    Self.bounded("integer", Double(range.lowerBound), Double(range.upperBound)), Self.numericTemplate,
                ]
            ]
        case .integers(let numbers): ["enum": .array(numbers.map { .number($0) })]
        case .number(let range):
            [
                "anyOf": [
                    range == Self.anyNumber
                        ? ["type": "number"] : Self.bounded("number", range.lowerBound, range.upperBound),
                    Self.numericTemplate,
                ]
            ]
        case .choice(let choices, isFixed: false):
            ["anyOf": [["enum": .texts(choices)], ["type": "string", "pattern": .string(TextForm.templatePattern)]]]
        case .choice(let choices, isFixed: true): ["enum": .texts(choices)]
        case .moment:
            [
                "anyOf": [
                    Self.bounded("integer", 0, Double(MomentSpelling.range.upperBound.seconds)),
                    ["type": "string", "pattern": .string(MomentTemplate.pattern)],
                ]
            ]
        case .span:
            [
                "anyOf": [
                    ["type": "integer", "minimum": 0], ["type": "string", "pattern": .string(SpanSpelling.pattern)],
                ]
            ]
        case .list(let element, let count):
            .members(
                [("type", "array"), ("minItems", .number(count.lowerBound))]
                    + (count.upperBound == .max ? [] : [("maxItems", .number(count.upperBound))])
                    + [("items", element.jsonSchema)]
            )
        case .object(let object): object.jsonSchema
        case .dictionary(let element): ["type": "object", "additionalProperties": element.jsonSchema]
        case .freeObject: ["type": "object"]
        case .either(let scalar, let object): ["anyOf": [scalar.jsonSchema, object.jsonSchema]]
        case .any: [:]
        }
    }

    private static let numericTemplate: JSONValue = ["type": "string", "pattern": .string(NumericVariable.pattern)]

    /// A range without documented bounds has the limits of an `Int`, which are omitted.
    private static func bounded(_ type: String, _ least: Double, _ most: Double) -> JSONValue {
        let bounds = [("minimum", least), ("maximum", most)].filter { abs($0.1) < Double(Int.max) }
        return .members([("type", .string(type))] + bounds.map { ($0.0, .number($0.1)) })
    }
}

extension FlagSpelling {
    fileprivate var schemaChoices: JSONValue {
        switch self {
        case .bool: [true, false]
        case .oneOrZero: [1, 0, true, false]
        case .yesOrNo: ["yes", "no", true, false]
        }
    }
}

/// The schema of a platform's block in the configuration, which allows no templates.
extension PlatformConfiguration {
    package var jsonSchema: JSONValue {
        let properties = schema.keys.map { key in
            (key.name, JSONValue.members([("description", .string(key.doc))] + key.schema.plainJSONSchema.members))
        }
        return .members(
            [("description", .string(doc)), ("type", "object"), ("additionalProperties", .bool(schema.isOpen))]
                + (schema.required.isEmpty ? [] : [("required", .texts(schema.required))])
                + [("properties", .members(properties))]
        )
    }
}

extension ValueSchema {
    /// A JSON Schema of such values without templates. It accepts YAML numbers and flags as texts.
    fileprivate var plainJSONSchema: JSONValue {
        switch self {
        case .text, .textOrNull, .moment, .span: ["type": ["string", "number", "boolean"]]
        case .flag: ["type": "boolean"]
        case .integer(let range):
            Self.bounded("integer", Double(range.lowerBound), Double(range.upperBound))
        case .integers(let numbers): ["enum": .array(numbers.map { .number($0) })]
        case .number(let range): Self.bounded("number", range.lowerBound, range.upperBound)
        case .choice(let choices, _): ["enum": .texts(choices)]
        case .list: ["type": "array", "items": ["type": "string"]]
        case .object, .dictionary, .freeObject: ["type": "object"]
        case .either: ["type": ["object", "string"]]
        case .any: [:]
        }
    }
}
