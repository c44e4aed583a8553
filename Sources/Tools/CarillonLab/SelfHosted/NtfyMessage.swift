import Cipher
import Foundation

/// ntfy's response to an accepted message.
struct NtfyMessage {
    /// ntfy keeps messages for 12 hours.
    private static let lifetimeSeconds: Int64 = 12 * 3_600

    /// The response's members.
    let members: JSONValue

    /// `now` is in seconds since 1970. Throws for parameters that ntfy refuses.
    init(_ publication: NtfyPublication, now: Int64, random: RandomBytes) throws(NtfyError) {
        let parameters = publication.parameters
        let time = try parameters.delay(now: now) ?? now
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        var members: [String: JSONValue] = [
            "id": .string(String(random(12).map { alphabet[Int($0) % alphabet.count] })), "event": .string("message"),
            "time": .integer(time), "topic": .string(publication.topic),
        ]
        if !parameters.isOff("x-cache", "cache") {
            members["expires"] = .integer(time + Self.lifetimeSeconds)
        }
        let text = String(validating: publication.body, as: UTF8.self)
        var message = text ?? Base64.encode(publication.body)
        members["encoding"] = text == nil ? .string("base64") : nil
        if !publication.isUnifiedPush {
            message = message.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        if message.isEmpty {
            message = parameters["x-message", "message", "m"]?.replacing("\\n", with: "\n") ?? "triggered"
        }
        members["message"] = .string(message)
        members["title"] = parameters["x-title", "title", "t"].map(JSONValue.string)
        members["priority"] = try parameters.priority().map { .integer(Int64($0)) }
        members["tags"] = parameters["x-tags", "tags", "tag", "ta"].map { tags in
            .array(tags.split(separator: ",").map { .string($0.trimmingCharacters(in: .whitespaces)) })
        }
        members["click"] = parameters["x-click", "click"].map(JSONValue.string)
        members["icon"] = try parameters.icon().map(JSONValue.string)
        if let actions = parameters["x-actions", "actions", "action"] {
            members["actions"] = .array(try NtfyActions.parse(actions))
        }
        if parameters.isSet("x-markdown", "markdown", "md") || parameters["content-type"] == "text/markdown" {
            members["content_type"] = .string("text/markdown")
        }
        self.members = .object(members)
    }
}

/// A message to a topic, with its parameters.
struct NtfyPublication {
    static let messageLimit = 4_096
    private static let reserved: Set<String> = [
        "docs", "static", "file", "app", "metrics", "account", "settings", "signup", "login", "v1",
    ]

    var topic: String
    /// The part of the body that ntfy keeps.
    var body: [UInt8]
    /// UnifiedPush mode: the body is kept unchanged, text or not.
    var isUnifiedPush = false
    /// The body has RFC 8188's encoding.
    var isEncrypted = false
    var parameters: NtfyParameters

    /// Reads a request to a topic, or to `/` with JSON.
    init(checking request: LabRequest, oversize: LabConfiguration.UnifiedPush.Oversize) throws(NtfyError) {
        if request.path == "/", request.method == "POST" || request.method == "PUT" {
            try self.init(json: request)
        } else {
            try self.init(toTopic: request, oversize)
        }
    }

    private init(toTopic request: LabRequest, _ oversize: LabConfiguration.UnifiedPush.Oversize) throws(NtfyError) {
        topic = try Self.topic(of: request)
        let isGET = request.method == "GET" && Self.verb(of: request) != nil
        guard request.method == "POST" || request.method == "PUT" || isGET else { throw .notFound }
        parameters = NtfyParameters(request)
        isEncrypted = request.header("content-encoding")?.lowercased() == "aes128gcm"
        isUnifiedPush = isEncrypted || parameters.asksForUnifiedPush
        body = request.body
        if body.count > Self.messageLimit {
            guard oversize == .cut, isUnifiedPush else { throw .tooLarge }
            body = Array(body.prefix(Self.messageLimit))
        }
        guard isUnifiedPush || String(validating: body, as: UTF8.self) != nil else { throw .notUTF8 }
    }

    private init(json request: LabRequest) throws(NtfyError) {
        guard request.body.count <= 2 * Self.messageLimit else { throw .jsonTooLarge }
        guard let members = JSONValue(parsing: request.body)?.object else { throw .jsonInvalid }
        let types: [String: (JSONValue) -> Bool] = [
            "topic": { $0.string != nil }, "message": { $0.string != nil }, "title": { $0.string != nil },
            "click": { $0.string != nil }, "icon": { $0.string != nil }, "attach": { $0.string != nil },
            "priority": { $0.integer != nil }, "tags": { $0.elements?.allSatisfy { $0.string != nil } ?? false },
            "actions": { $0.elements != nil }, "delay": { $0.string != nil },
        ]
        for (name, value) in members {
            guard types[name]?(value) ?? true else { throw .jsonInvalid }
        }
        topic = members["topic"]?.string ?? ""
        guard Self.isTopic(topic) else { throw .topicInvalid }
        guard !Self.reserved.contains(topic) else { throw .topicNotAllowed }
        parameters = NtfyParameters(members.filter { $0.key != "message" })
        body = Array((members["message"]?.string ?? "").utf8)
        guard body.count <= Self.messageLimit else { throw .tooLarge }
    }

    /// The topic in a path.
    static func topic(of request: LabRequest) throws(NtfyError) -> String {
        var topic = String(request.path.dropFirst())
        if request.method == "GET", let verb = verb(of: request) {
            topic = String(topic.dropLast(verb.utf8.count + 1))
        }
        guard isTopic(topic) else { throw .notFound }
        guard !reserved.contains(topic) else { throw .topicNotAllowed }
        return topic
    }

    /// Whether a GET is a message: `/topic/publish` and the like.
    static func publishesByGet(_ request: LabRequest) -> Bool { verb(of: request) != nil }

    /// The last part of a path that publishes by GET.
    private static func verb(of request: LabRequest) -> String? {
        ["publish", "send", "trigger"].first { request.path.hasSuffix("/" + $0) }
    }

    private static func isTopic(_ topic: String) -> Bool {
        (1...64).contains(topic.utf8.count)
            && topic.consistsOfLettersDigits(and: "-_")
    }
}

/// A message's parameters from headers or query, under any of ntfy's names.
struct NtfyParameters {
    private var values: [String: String] = [:]

    init(_ request: LabRequest) {
        values = Dictionary(request.query.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
        for header in request.headers {
            values[header.name] = RFC2047.decode(header.value)
        }
    }

    /// Reads the members of a message in JSON, under the names of the headers.
    init(_ members: [String: JSONValue]) {
        for (name, value) in members {
            switch value {
            case .string(let text): values[name] = text
            case .integer(let number) where number != 0: values[name] = String(number)
            case .bool(true): values[name] = "1"
            case .array(let list) where name == "tags": values[name] = list.compactMap(\.string).joined(separator: ",")
            case .array: values[name] = value.compact
            default: break
            }
        }
    }

    /// The first non-empty value.
    subscript(names: String...) -> String? {
        names.lazy.compactMap { values[$0] }.first { !$0.isEmpty }
    }

    func isSet(_ names: String...) -> Bool { flag(names) == true }

    func isOff(_ names: String...) -> Bool { flag(names) == false }

    private func flag(_ names: [String]) -> Bool? {
        switch names.lazy.compactMap({ values[$0] }).first?.lowercased() {
        case "1", "yes", "true": true
        case "0", "no", "false": false
        default: nil
        }
    }

    var asksForUnifiedPush: Bool { isSet("x-unifiedpush", "unifiedpush", "up") }

    func priority() throws(NtfyError) -> Int? {
        switch self["x-priority", "priority", "prio", "p"]?.lowercased() {
        case nil: nil
        case "1", "min": 1
        case "2", "low": 2
        case "3", "default": 3
        case "4", "high": 4
        case "5", "max", "urgent": 5
        default: throw .priorityInvalid
        }
    }

    func icon() throws(NtfyError) -> String? {
        guard let icon = self["x-icon", "icon"] else { return nil }
        guard icon.hasPrefix("http://") || icon.hasPrefix("https://") else { throw .iconInvalid }
        return icon
    }

    /// When the message will be shown, in seconds since 1970. Of ntfy's forms, UNIX times and durations like `30m` are
    /// supported.
    func delay(now: Int64) throws(NtfyError) -> Int64? {
        guard let text = self["x-delay", "delay", "x-at", "at", "x-in", "in"] else { return nil }
        let time: Int64
        if let unixTime = Int64(text) {
            time = unixTime
        } else if let match = text.wholeMatch(of: /(\d{1,6})\s*([smhd])[a-z]*/), let count = Int64(match.1) {
            let seconds: [Substring: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]
            time = now + count * (seconds[match.2] ?? 1)
        } else {
            throw .delayInvalid(40004, "delay parameter could not be parsed")
        }
        guard time >= now + 10 else { throw .delayInvalid(40005, "delay parameter too small") }
        guard time <= now + 3 * 86_400 else { throw .delayInvalid(40006, "delay parameter too large") }
        return time
    }
}

/// Encoded words in header values (RFC 2047): `=?UTF-8?B?w6k=?=`.
enum RFC2047 {
    static func decode(_ text: String) -> String {
        // The regular expression is compiled again each time, which costs more than the rest of the request.
        guard text.utf8.contains(UInt8(ascii: "?")) else { return text }
        // Blanks between two encoded words are ignored (section 6.2).
        return text.replacing(/\?=\s+=\?/, with: "?==?").replacing(/=\?(?i:utf-8)\?([BbQq])\?([^?\s]*)\?=/) { match in
            let bytes = match.1.lowercased() == "b" ? Base64.decode(String(match.2)) : quotedPrintable(match.2)
            return bytes.flatMap { String(validating: $0, as: UTF8.self) } ?? String(match.0)
        }
    }

    private static func quotedPrintable(_ text: Substring) -> [UInt8]? {
        text.replacing("_", with: " ").replacing("=", with: "%").removingPercentEncoding.map { Array($0.utf8) }
    }
}
