import Console
import Rules

/// The API's description for people: one page without scripts and without anything from elsewhere.
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
            <p>Version \(Self.escaped(Version.current)). The same for machines: <a href="openapi.json">openapi.json</a>.
            Errors are problem+json (RFC 9457). Lists go on behind <code>next</code>, which <code>after</code> takes.</p>
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
        case .everybody: "For everybody."
        case .scope(let scope): "Takes a token with the scope <code>\(scope.rawValue)</code>."
        case .owner: "Takes a request signed with the account's key (NIP-98)."
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
