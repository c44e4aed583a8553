import PluginKit

/// One push service, as the operator describes it in `services`.
struct Service: Sendable {
    /// What registrations say to the router itself.
    private static let reservedFields: Set = [
        "app", "batch", "code", "device", "filter_plugins", "filters", "locale", "mode", "partners", "platform",
        "push_endpoint", "quiet", "relays", "service", "shared", "signals", "subscription", "token",
    ]

    let request: RequestTemplate
    let answers: AnswerTable
    let secrets: [String: String]
    /// What the service calls each urgency.
    let urgencies: JSONObject
    let limits: TextLimits
    let placeholders: Set<Placeholder>
    private let token: TextRule
    private let fields: [(name: String, rule: TextRule)]

    /// `kept` are secrets that stand in a file.
    init(_ block: JSONObject, _ kept: [String: String] = [:]) throws(PluginError) {
        try block.refuseMembers(except: [
            "method", "url", "headers", "json", "form", "text", "secrets", "token", "fields", "urgency", "limits",
            "answers",
        ])
        let written = try Self.secrets(block)
        if let name = kept.keys.sorted().first(where: { written[$0] != nil }) {
            throw PluginError("secrets.\(name): expected it here or in secrets_file, found both")
        }
        let secrets = kept.merging(written) { $1 }
        self.secrets = secrets
        token = try PluginError.at("token") { () throws(PluginError) in
            try TextRule(block.mapping("token", expected: "a mapping"), isRequired: true)
        }
        let fields = try Self.fields(block)
        self.fields = fields
        var names = PlaceholderNames(fields: Set(fields.map(\.name)), secrets: Set(secrets.keys))
        request = try RequestTemplate(block, &names)
        answers = try AnswerTable(block, isUsersOwn: request.url.isUsersOwn)
        urgencies = try block.mapping("urgency", expected: "values by low, normal and high") ?? JSONObject()
        let lengths = try block.mapping("limits", expected: "lengths by title, subtitle and body") ?? JSONObject()
        let urgencies = urgencies
        limits = try PluginError.at("limits") { () throws(PluginError) in try TextLimits(lengths) }
        try PluginError.at("urgency") { () throws(PluginError) in
            try urgencies.refuseMembers(except: ["low", "normal", "high"])
        }
        placeholders = names.used
        if case .secret(let name)? = request.url.base, !request.url.canBegin(with: secrets[name] ?? "") {
            throw PluginError("secrets.\(name): expected a URL, because url begins with it")
        }
    }

    /// Throws for a registration that the service cannot reach anybody by.
    func check(_ registration: borrowing Registration) throws(PluginError) {
        try token.check(registration.token.string, "token")
        for (name, rule) in fields {
            try rule.check(registration.field(named: name)?.string ?? "", name)
        }
        let (name, base): (String, String?) =
            switch request.url.base {
            case .token: ("token", registration.token.string)
            case .field(let name): (name, registration.field(named: name)?.string ?? "")
            default: ("", nil)
            }
        guard base.map(request.url.canBegin) ?? true else {
            throw PluginError("\(name): expected a URL such as https://example.com/path")
        }
    }

    private static func secrets(_ block: JSONObject) throws(PluginError) -> [String: String] {
        var secrets: [String: String] = [:]
        for (name, value) in try block.mapping("secrets", expected: "texts by their names")?.members ?? [] {
            guard let text = value.literalText, !text.isEmpty else {
                throw PluginError("secrets.\(name): expected a text, found \(value.kind)")
            }
            secrets[name] = text
        }
        return secrets
    }

    private static func fields(_ block: JSONObject) throws(PluginError) -> [(name: String, rule: TextRule)] {
        var fields: [(String, TextRule)] = []
        for (name, value) in try block.mapping("fields", expected: "mappings by the fields' names")?.members ?? [] {
            let rule = try PluginError.at("fields.\(name)") { () throws(PluginError) in
                guard !reservedFields.contains(name) else {
                    throw PluginError("expected another name, registrations use this one themselves")
                }
                guard value.isObject || value.isNull else {
                    throw PluginError("expected a mapping, found \(value.kind)")
                }
                return try TextRule(value.object, isRequired: false)
            }
            fields.append((name, rule))
        }
        return fields
    }
}

/// What a token or a field of a registration has to look like.
private struct TextRule: Sendable {
    private static let limit: Int64 = 2048

    private let isRequired: Bool
    private let start: String
    private let lengths: ClosedRange<Int>
    private let expected: String

    init(_ block: JSONObject?, isRequired: Bool) throws(PluginError) {
        let block = block ?? JSONObject()
        try block.refuseMembers(except: ["required", "starts_with", "min_length", "max_length", "expected"])
        self.isRequired = try block.flag("required") ?? isRequired
        start = try block.text("starts_with", expected: "a text") ?? ""
        let shortest = Int(try block.integer("min_length", in: 1...Self.limit) ?? 1)
        let longest = Int(try block.integer("max_length", in: 1...Self.limit) ?? 1000)
        guard shortest <= longest else { throw PluginError("min_length: expected at most max_length") }
        lengths = shortest...longest
        let description = try block.text("expected", expected: "what people are to write there") ?? "a text"
        let beginning = start.isEmpty ? "" : " that begins with \(start)"
        expected = "\(description)\(beginning), \(shortest) to \(longest) bytes"
    }

    func check(_ text: String, _ name: String) throws(PluginError) {
        if text.isEmpty, !isRequired { return }
        guard lengths.contains(text.utf8.count), text.hasPrefix(start), text != ".", text != "..",
            text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw PluginError("\(name): expected \(expected)") }
    }
}
