import Console
import Rules

/// The API's description as OpenAPI 3.1 has it, made of the list that requests are dispatched by.
struct OpenAPIDocument {
    private let operations: [APIOperation]
    private let url: String

    /// `url` is where clients reach the API; empty: where they got this.
    init(_ operations: [APIOperation], url: String = "") {
        self.operations = operations
        self.url = url
    }

    var json: String { tree.prettyPrinted }

    private var tree: JSONTree {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Carillon", "version": .text(Version.current),
                "description": .text(
                    "The API of a push router for Nostr. Errors are problem+json (RFC 9457). Lists go on behind `next`, "
                        + "which the parameter `after` takes. GET answers have an ETag. An X-Request-Id comes back."
                ),
            ],
            "servers": [["url": .text(url.isEmpty ? "/" : url)]],
            "tags": .list(groups.map { ["name": .text($0.rawValue)] }),
            "paths": .object(paths),
            "components": [
                "securitySchemes": [
                    "token": [
                        "type": "http", "scheme": "bearer",
                        "description": "The token of api.token_file, or a named one (carillon tokens create).",
                    ],
                    "session": [
                        "type": "apiKey", "in": "cookie", "name": .text(BrowserSessions.cookie),
                        "description": "A browser that signed in with a token (POST /v1/session).",
                    ],
                    "nostr": [
                        "type": "apiKey", "in": "header", "name": "Authorization",
                        "description": "`Nostr ` and an event of kind 27235 in base64 (NIP-98), signed by the account.",
                    ],
                ],
                "schemas": ["Problem": problem],
                "responses": [
                    "Problem": [
                        "description": "Why it was not done.",
                        "content": ["application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]],
                    ]
                ],
            ],
        ]
    }

    private var groups: [APIOperation.Group] {
        APIOperation.Group.allCases.filter { group in operations.contains { $0.group == group } }
    }

    private var paths: [(key: String, value: JSONTree)] {
        var byPath: [(key: String, methods: [(key: String, value: JSONTree)])] = []
        for operation in operations {
            let path = operation.endpoint.path
            let member = (key: operation.endpoint.method.rawValue.lowercased(), value: Self.tree(operation))
            if let index = byPath.firstIndex(where: { $0.key == path }) {
                byPath[index].methods.append(member)
            } else {
                byPath.append((path, [member]))
            }
        }
        return byPath.map { ($0.key, .object($0.methods)) }
    }

    private var problem: JSONTree {
        [
            "type": "object", "required": ["type", "title", "status", "detail", "request_id"],
            "properties": [
                "type": ["type": "string"], "title": ["type": "string"],
                "status": ["type": "integer", "minimum": 400, "maximum": 599],
                "detail": ["type": "string", "description": "What is wrong and what was expected."],
                "request_id": ["type": "string"],
                // What `detail` says, for programs.
                "says": AnswerSchema.of(Statement.self),
                "errors": [
                    "type": "array",
                    "description": "What is wrong with the body, place by place.",
                    "items": [
                        "type": "object", "required": ["pointer", "detail"],
                        "properties": [
                            "pointer": ["type": "string", "description": "A JSON pointer, as in #/to/account."],
                            "detail": ["type": "string"],
                        ],
                    ],
                ],
            ],
        ]
    }

    private static func tree(_ operation: APIOperation) -> JSONTree {
        let endpoint = operation.endpoint
        var members: [(key: String, value: JSONTree)] = [
            ("operationId", .text(operationID(endpoint))), ("tags", [.text(operation.group.rawValue)]),
            ("summary", .text(operation.summary)), ("security", security(endpoint.access)),
        ]
        if case .scope(let scope) = endpoint.access { members.append(("x-scope", .text(scope.rawValue))) }
        if !endpoint.parameters.isEmpty { members.append(("parameters", .list(endpoint.parameters.map(tree)))) }
        if let body = operation.body, let taken = endpoint.body {
            let content = JSONTree.object([(taken.contentType, schema(body))])
            members.append(("requestBody", ["required": .flag(taken.isRequired), "content": content]))
        }
        members.append(("responses", responses(operation)))
        return .object(members)
    }

    private static func responses(_ operation: APIOperation) -> JSONTree {
        let content: JSONTree =
            switch operation.content {
            case .json(let form): .object([("application/json", schema(form))])
            case .text(let type): .object([(type, schema(["type": "string"]))])
            // OpenAPI 3.1 has no words for the parts of a stream.
            case .events(let forms):
                .object([("text/event-stream", ["schema": ["type": "string"], "x-events": forms])])
            }
        let good: JSONTree = ["description": .text(operation.summary), "content": content]
        var members: [(key: String, value: JSONTree)] = [("\(operation.status)", good)]
        for other in operation.others {
            let content = JSONTree.object([("application/json", schema(other.form))])
            members.append(("\(other.status)", ["description": .text(other.summary), "content": content]))
        }
        if operation.endpoint.method == .get { members.append(("304", ["description": "As the client has it."])) }
        members.append(("default", ["$ref": "#/components/responses/Problem"]))
        return .object(members)
    }

    private static func schema(_ schema: JSONTree) -> JSONTree { .object([("schema", schema)]) }

    /// As in `get_devices_device`.
    private static func operationID(_ endpoint: APIEndpoint) -> String {
        let words = endpoint.path.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.drop { $0 == "v1" }
        return ([endpoint.method.rawValue.lowercased()] + words.map(String.init)).joined(separator: "_")
    }

    private static func security(_ access: APIAccess) -> JSONTree {
        switch access {
        case .everybody: []
        case .scope: [["token": []], ["session": []]]
        case .owner: [["nostr": []]]
        }
    }

    private static func tree(_ parameter: APIParameter) -> JSONTree {
        [
            "name": .text(parameter.name), "in": .text(parameter.place.rawValue),
            "required": .flag(parameter.isRequired), "description": .text(parameter.summary),
            // Browsers send a cookie of theirs whatever it holds, and one that is none of ours counts as none.
            "schema": parameter.place == .cookie ? ["type": "string"] : schema(parameter.form),
        ]
    }

    private static func schema(_ form: APIParameter.Form) -> JSONTree {
        switch form {
        case .text(let longest): ["type": "string", "minLength": 1, "maxLength": .number(Double(longest))]
        case .plain(let longest):
            [
                "type": "string", "minLength": 1, "maxLength": .number(Double(longest)),
                "pattern": "^[A-Za-z0-9,-]+$",
            ]
        case .integer(let range):
            [
                "type": "integer", "minimum": .number(Double(range.lowerBound)),
                "maximum": .number(Double(range.upperBound)),
            ]
        case .choice(let choices): ["type": "string", "enum": .texts(choices)]
        case .flag: ["type": "string", "enum": ["true", "false", "1", "0"]]
        }
    }
}
