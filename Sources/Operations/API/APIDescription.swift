import Console
import JSON
import Rules

/// The API's description in OpenAPI 3.1, generated from the list that dispatches requests.
struct OpenAPIDocument {
    private let operations: [APIOperation]
    private let url: String

    /// `url` is the API's base URL for clients; empty: the origin of this document.
    init(_ operations: [APIOperation], url: String = "") {
        self.operations = operations
        self.url = url
    }

    var json: String { tree.prettyPrinted + "\n" }

    private var tree: JSONValue {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Carillon", "version": .string(Version.current),
                "description": .string(
                    "The API of a push router for Nostr. Errors are problem+json (RFC 9457). For the next page of a list, pass "
                        + "its `next` as `after`. Responses to GET have an ETag. Responses repeat an X-Request-Id."
                ),
            ],
            "servers": [["url": .string(url.isEmpty ? "/" : url)]],
            "tags": .array(groups.map { ["name": .string($0.rawValue)] }),
            "paths": .members(paths),
            "components": [
                "securitySchemes": [
                    "token": [
                        "type": "http", "scheme": "bearer",
                        "description": "The token of api.token_file, or a named one (carillon tokens create).",
                    ],
                    "session": [
                        "type": "apiKey", "in": "cookie", "name": .string(BrowserSessions.cookie),
                        "description": "The cookie of a browser that signed in with a token (POST /v1/session).",
                    ],
                    "nostr": [
                        "type": "apiKey", "in": "header", "name": "Authorization",
                        "description": "`Nostr ` and an event of kind 27235 in base64 (NIP-98), signed by the account.",
                    ],
                ],
                "schemas": ["Problem": problem],
                "responses": [
                    "Problem": [
                        "description": "The reason for the error.",
                        "content": ["application/problem+json": ["schema": ["$ref": "#/components/schemas/Problem"]]],
                    ]
                ],
            ],
        ]
    }

    private var groups: [APIOperation.Group] {
        APIOperation.Group.allCases.filter { group in operations.contains { $0.group == group } }
    }

    private var paths: [(key: String, value: JSONValue)] {
        var byPath: [(key: String, methods: [(key: String, value: JSONValue)])] = []
        for operation in operations {
            let path = operation.endpoint.path
            let member = (key: operation.endpoint.method.rawValue.lowercased(), value: Self.tree(operation))
            if let index = byPath.firstIndex(where: { $0.key == path }) {
                byPath[index].methods.append(member)
            } else {
                byPath.append((path, [member]))
            }
        }
        return byPath.map { ($0.key, .members($0.methods)) }
    }

    private var problem: JSONValue {
        [
            "type": "object", "required": ["type", "title", "status", "detail", "request_id"],
            "properties": [
                "type": ["type": "string"], "title": ["type": "string"],
                "status": ["type": "integer", "minimum": 400, "maximum": 599],
                "detail": ["type": "string", "description": "The problem and the expected input."],
                "request_id": ["type": "string"],
                // The machine-readable form of `detail`.
                "says": AnswerSchema.of(Statement.self),
                "errors": [
                    "type": "array",
                    "description": "The errors in the body, each with its position.",
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

    private static func tree(_ operation: APIOperation) -> JSONValue {
        let endpoint = operation.endpoint
        var members: [(key: String, value: JSONValue)] = [
            ("operationId", .string(operationID(endpoint))), ("tags", [.string(operation.group.rawValue)]),
            ("summary", .string(operation.summary)), ("security", security(endpoint.access)),
        ]
        if case .scope(let scope) = endpoint.access { members.append(("x-scope", .string(scope.rawValue))) }
        if !endpoint.parameters.isEmpty { members.append(("parameters", .array(endpoint.parameters.map(tree)))) }
        if let body = operation.body, let taken = endpoint.body {
            let content = JSONValue.members([(taken.contentType, schema(body))])
            members.append(("requestBody", ["required": .bool(taken.isRequired), "content": content]))
        }
        members.append(("responses", responses(operation)))
        return .members(members)
    }

    private static func responses(_ operation: APIOperation) -> JSONValue {
        let content: JSONValue =
            switch operation.content {
            case .json(let form): .members([("application/json", schema(form))])
            case .text(let type): .members([(type, schema(["type": "string"]))])
            // OpenAPI 3.1 cannot describe the parts of a stream.
            case .events(let forms):
                .members([("text/event-stream", ["schema": ["type": "string"], "x-events": forms])])
            }
        let good: JSONValue = ["description": .string(operation.summary), "content": content]
        var members: [(key: String, value: JSONValue)] = [("\(operation.status)", good)]
        for other in operation.others {
            let content = JSONValue.members([("application/json", schema(other.form))])
            members.append(("\(other.status)", ["description": .string(other.summary), "content": content]))
        }
        if operation.endpoint.method == .get { members.append(("304", ["description": "Not modified."])) }
        members.append(("default", ["$ref": "#/components/responses/Problem"]))
        return .members(members)
    }

    private static func schema(_ schema: JSONValue) -> JSONValue { .members([("schema", schema)]) }

    /// Returns an ID such as `get_devices_device`.
    private static func operationID(_ endpoint: APIEndpoint) -> String {
        let words = endpoint.path.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.drop { $0 == "v1" }
        return ([endpoint.method.rawValue.lowercased()] + words.map(String.init)).joined(separator: "_")
    }

    private static func security(_ access: APIAccess) -> JSONValue {
        switch access {
        case .everybody: []
        case .scope: [["token": []], ["session": []]]
        case .owner: [["nostr": []]]
        }
    }

    private static func tree(_ parameter: APIParameter) -> JSONValue {
        [
            "name": .string(parameter.name), "in": .string(parameter.place.rawValue),
            "required": .bool(parameter.isRequired), "description": .string(parameter.summary),
            // Browsers send the cookie whatever it contains; the router ignores an invalid one.
            "schema": parameter.place == .cookie ? ["type": "string"] : schema(parameter.form),
        ]
    }

    private static func schema(_ form: APIParameter.Form) -> JSONValue {
        switch form {
        case .text(let longest): ["type": "string", "minLength": 1, "maxLength": .number(longest)]
        case .plain(let longest):
            [
                "type": "string", "minLength": 1, "maxLength": .number(longest),
                "pattern": "^[A-Za-z0-9,-]+$",
            ]
        case .integer(let range):
            [
                "type": "integer", "minimum": .number(Int(range.lowerBound)),
                "maximum": .number(Int(range.upperBound)),
            ]
        case .choice(let choices): ["type": "string", "enum": .texts(choices)]
        case .flag: ["type": "string", "enum": ["true", "false", "1", "0"]]
        }
    }
}

/// The API's description for people: one page without scripts and external resources.
struct DescriptionPage {
    static let policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

    private let operations: [APIOperation]

    init(_ operations: [APIOperation]) {
        self.operations = operations
    }

    var html: String {
        let groups = APIOperation.Group.allCases.compactMap { group -> String? in
            let own = operations.filter { $0.group == group }
            guard !own.isEmpty else { return nil }
            return "<section aria-labelledby=\"\(group)\"><h2 id=\"\(group)\">\(group)</h2>"
                + own.map(Self.html).joined() + "</section>"
        }
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>Carillon's API</title><style>\(Self.style)</style></head><body><main>
            <h1>Carillon's API</h1>
            <p>Version \(Self.escaped(Version.current)). For programs: <a href="openapi.json">openapi.json</a>.
            Errors are problem+json (RFC 9457). For the next page, pass <code>next</code> as <code>after</code>.</p>
            \(groups.joined(separator: "\n"))
            </main></body></html>

            """
    }

    private static let style = """
        :root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}main{max-width:60rem;margin:0 auto;padding:1rem}\
        code,pre{font:0.9em ui-monospace,monospace;overflow-wrap:anywhere}pre{overflow:auto;padding:.75rem;\
        border:1px solid GrayText;border-radius:.25rem;white-space:pre-wrap}h3{margin:1.5rem 0 .25rem}dt{font-weight:600}\
        dd{margin:0 0 .25rem 1rem}p{margin:.25rem 0}
        """

    private static func html(_ operation: APIOperation) -> String {
        let endpoint = operation.endpoint
        let parameters = endpoint.parameters.map { parameter in
            "<dt><code>\(escaped(parameter.name))</code>\(parameter.isRequired ? "" : " (optional)")</dt>"
                + "<dd>\(escaped(parameter.summary))</dd>"
        }
        return """
            <article><h3><code>\(endpoint.method.rawValue) \(escaped(endpoint.path))</code></h3>
            <p>\(escaped(operation.summary)) <em>\(access(endpoint.access))</em></p>
            \(parameters.isEmpty ? "" : "<dl>\(parameters.joined())</dl>")\
            <pre>\(escaped(example(endpoint)))</pre></article>
            """
    }

    private static func access(_ access: APIAccess) -> String {
        switch access {
        case .everybody: "No authentication."
        case .scope(let scope): "Requires a token with the scope <code>\(scope.rawValue)</code>."
        case .owner: "Requires a request signed with the account's key (NIP-98)."
        }
    }

    private static func example(_ endpoint: APIEndpoint) -> String {
        let proof =
            switch endpoint.access {
            case .everybody: ""
            case .scope: " -H \"Authorization: Bearer $TOKEN\""
            case .owner: " -H \"Authorization: Nostr $EVENT\""
            }
        let method = endpoint.method == .get ? "" : " -X \(endpoint.method.rawValue)"
        let body = endpoint.body.map { " -H \"Content-Type: \($0.contentType)\" --data @body" } ?? ""
        let path = endpoint.path.replacing("{", with: "").replacing("}", with: "")
        return "curl\(method)\(proof)\(body) \"$URL\(path)\""
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}

/// The API's description of itself.
enum DescriptionAPI {
    /// `operations` are all other operations.
    static func operations(of operations: [APIOperation], url: String) -> [APIOperation] {
        // The description includes its own operations.
        let all = operations + own(json: "", page: "")
        return own(json: OpenAPIDocument(all, url: url).json, page: DescriptionPage(all).html)
    }

    private static func own(json: String, page: String) -> [APIOperation] {
        let html = "text/html; charset=utf-8"
        return [
            APIOperation(
                APIEndpoint(.get, "/v1/openapi.json", for: .everybody) { _ in ConsoleAnswer(body: json) },
                .description,
                "This description.",
                .json(["type": "object"])
            ),
            APIOperation(
                APIEndpoint(.get, "/v1/docs", for: .everybody) { _ in
                    var answer = ConsoleAnswer(body: page)
                    answer.contentType = html
                    answer.fields["content-security-policy"] = DescriptionPage.policy
                    return answer
                },
                .description,
                "This description as a web page.",
                .text(html)
            ),
        ]
    }
}
