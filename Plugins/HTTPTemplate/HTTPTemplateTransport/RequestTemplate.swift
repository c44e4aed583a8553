import PluginKit

/// The request of a service: method, URL, headers and body, each with placeholders.
struct RequestTemplate: Sendable {
    private enum Method: String, CaseIterable, Sendable {
        case POST, PUT, GET
    }

    private enum Body: Sendable {
        case none
        case json(JSONTemplate)
        case form([(name: String, value: Template)])
        case text(Template)
    }

    /// The maximum bytes of all headers; the router accepts 32 KiB.
    private static let headersLimit = 16_384
    private static let bodyLimit = 1 << 20
    /// Headers that frame a message, which the router sets.
    private static let reservedHeaders: Set = [
        "connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    let url: URLTemplate
    private let method: Method
    private let headers: [(name: String, value: Template)]
    private let body: Body

    init(_ block: JSONObject, _ names: inout PlaceholderNames) throws(PluginError) {
        method = try block.choice("method", Method.self) ?? .POST
        let expected = "an address such as https://example.com/send/{{token}}"
        let address = try block.requiredText("url", expected: expected)
        url = try PluginError.at("url") { () throws(PluginError) in try URLTemplate(address, &names) }
        var headers = try Self.templates("headers", block, &names)
        for index in headers.indices {
            let name = headers[index].name.lowercased()
            guard !name.isEmpty, name.utf8.allSatisfy({ $0.isASCIILetterOrDigit || $0.isOne(of: "!#$%&'*+-.^_`|~") }),
                !Self.reservedHeaders.contains(name), headers.firstIndex(where: { $0.name == name }) ?? index >= index
            else { throw PluginError("headers.\(name): expected each name once, and none that frames a message") }
            let literal = headers[index].value.render { _ in "" }
            guard literal.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw PluginError("headers.\(name): expected printable ASCII around placeholders")
            }
            headers[index].name = name
        }
        var bodies: [Body] = []
        if let tree = block["json"], !tree.isNull {
            bodies.append(
                .json(try PluginError.at("json") { () throws(PluginError) in try JSONTemplate(tree, &names) })
            )
        }
        if block.contains("form") { bodies.append(.form(try Self.templates("form", block, &names))) }
        if let text = try block.text("text", expected: "a text with placeholders") {
            bodies.append(.text(try PluginError.at("text") { () throws(PluginError) in try Template(text, &names) }))
        }
        guard bodies.count <= 1 else { throw PluginError("json: expected one of json, form and text, found several") }
        body = bodies.first ?? .none
        if case .none = body {} else if method == .GET { throw PluginError("method: expected GET without a body") }
        let type =
            switch body {
            case .none: ""
            case .json: "application/json"
            case .form: "application/x-www-form-urlencoded"
            case .text: "text/plain; charset=utf-8"
            }
        if !type.isEmpty, !headers.contains(where: { $0.name == "content-type" }) {
            headers.append(("content-type", try Template(type, &names)))
        }
        self.headers = headers
    }

    private static func templates(
        _ key: StaticString,
        _ block: JSONObject,
        _ names: inout PlaceholderNames
    ) throws(PluginError) -> [(name: String, value: Template)] {
        var templates: [(String, Template)] = []
        for (name, value) in try block.mapping(key, expected: "texts by their names")?.members ?? [] {
            let template = try PluginError.at("\(key).\(name)") { () throws(PluginError) in
                guard let text = value.literalText else { throw PluginError("expected a text, found \(value.kind)") }
                return try Template(text, &names)
            }
            templates.append((name, template))
        }
        return templates
    }

    /// Returns the request with values. Headers, form fields and members that become empty are omitted.
    func request(_ values: Values) throws(ReadableMessageError) -> HTTPRequest {
        let verb: StaticString = method == .POST ? "POST" : method == .PUT ? "PUT" : "GET"
        var request = HTTPRequest(verb, url: try url.url(values), options: url.isUsersOwn ? .untrustedURL : [])
        var headerBytes = 0
        for (name, template) in headers {
            let value = template.render(values.text, EncodedWords.encode)
            guard !value.isEmpty else { continue }
            headerBytes += name.utf8.count + value.utf8.count
            request.addHeader(named: name, value)
        }
        switch body {
        case .none: break
        case .json(let tree):
            var writer = JSONWriter()
            tree.write(values, to: &writer)
            request.body = writer.bytes
        case .form(let fields):
            let pairs = fields.compactMap { name, template -> String? in
                let value = template.render(values.text)
                return value.isEmpty ? nil : PercentEncoding.encode(name) + "=" + PercentEncoding.encode(value)
            }
            request.body = Array(pairs.joined(separator: "&").utf8)
        case .text(let template): request.body = Array(template.render(values.text).utf8)
        }
        guard headerBytes <= Self.headersLimit, request.body.count <= Self.bodyLimit else { throw .tooLarge }
        return request
    }
}

/// A URL with percent-encoded placeholders after its host, or one that starts with a placeholder for the base URL.
struct URLTemplate: Sendable {
    private static let limit = 8192

    /// Whether the URL starts with one from the registration.
    let isUsersOwn: Bool
    /// The placeholder that the URL starts with, for the registration's check.
    let base: Placeholder?
    private let origin: String
    private let rest: Template?

    init(_ text: String, _ names: inout PlaceholderNames) throws(PluginError) {
        let (literal, placeholder, rest) = try Template(text, &names).split
        let tail = rest?.render { _ in "x" } ?? ""
        switch placeholder {
        case .token, .field: isUsersOwn = true
        default: isUsersOwn = false
        }
        (base, origin, self.rest) = (placeholder, literal ?? "", rest)
        let sample: String
        switch placeholder {
        case nil:
            guard let url = HTTPURL(origin), rest == nil || !url.target.isEmpty else {
                throw PluginError("expected https://, a host and a path before the first placeholder")
            }
            sample = origin + tail
        case .token, .field, .secret:
            guard tail.isEmpty || tail.hasPrefix("/") else {
                throw PluginError("expected / after the placeholder at the start")
            }
            sample = "https://example.com" + tail
        default: throw PluginError("expected https:// or a placeholder of token, fields or secrets at the start")
        }
        guard HTTPURL(sample) != nil else {
            throw PluginError("expected a URL once the placeholders are filled: ASCII, without a fragment")
        }
    }

    /// Whether `text` can be the URL that this one starts with.
    func canBegin(with text: String) -> Bool {
        HTTPURL(text).map { rest == nil || !$0.target.contains("?") } ?? false
    }

    /// Percent-encodes a value except colons. They have no meaning after the host, and services such as Telegram expect
    /// them unencoded.
    private static func encode(_ text: String) -> String {
        PercentEncoding.encode(text).replacing("%3A", with: ":")
    }

    /// Throws if a value would lead to a path other than the one written here.
    func url(_ values: Values) throws(ReadableMessageError) -> String {
        var url = origin
        if let base {
            url = values.text(base)
            guard canBegin(with: url) else { throw .badURL }
            if rest != nil, url.hasSuffix("/") { url.removeLast() }
        }
        url += rest?.render(values.text, Self.encode) ?? ""
        guard url.utf8.count <= Self.limit else { throw .tooLarge }
        let path = url.prefix { $0 != "?" }.split(separator: "/")
        guard HTTPURL(url) != nil, !path.contains("."), !path.contains("..") else { throw .badURL }
        return url
    }
}

/// A JSON text whose strings contain placeholders.
enum JSONTemplate: Sendable {
    case literal(JSONValue)
    case text(Template)
    indirect case object([(name: String, value: JSONTemplate)])
    indirect case list([JSONTemplate])

    init(_ value: JSONValue, _ names: inout PlaceholderNames) throws(PluginError) {
        if let text = value.string {
            self = .text(try Template(text, &names))
        } else if let object = value.object {
            var members: [(String, JSONTemplate)] = []
            for (name, member) in object.members {
                let template = try PluginError.at(name) { () throws(PluginError) in try JSONTemplate(member, &names) }
                members.append((name, template))
            }
            self = .object(members)
        } else if let elements = value.elements {
            var list: [JSONTemplate] = []
            for element in elements { list.append(try JSONTemplate(element, &names)) }
            self = .list(list)
        } else {
            self = .literal(value)
        }
    }

    /// Whether the value is empty with these values.
    private func isEmpty(_ values: Values) -> Bool {
        switch self {
        case .literal: false
        case .text(let template): template.hasPlaceholders && template.render(values.text).isEmpty
        case .object(let members): !members.isEmpty && members.allSatisfy { $0.value.isEmpty(values) }
        case .list(let elements): !elements.isEmpty && elements.allSatisfy { $0.isEmpty(values) }
        }
    }

    /// Writes the JSON. A string that is only a placeholder becomes its value, which may be a number.
    func write(_ values: Values, to writer: inout JSONWriter) {
        switch self {
        case .literal(let value): writer.value(value)
        case .text(let template):
            switch template.sole.flatMap({ values[$0] }) {
            case .json(let value): writer.value(value)
            case .number(let number): writer.integer(number)
            default: writer.string(template.render(values.text))
            }
        case .object(let members):
            writer.beginObject()
            for (name, value) in members where !value.isEmpty(values) {
                writer.key(escaping: name)
                value.write(values, to: &writer)
            }
            writer.endObject()
        case .list(let elements):
            writer.beginArray()
            for element in elements where !element.isEmpty(values) { element.write(values, to: &writer) }
            writer.endArray()
        }
    }
}
