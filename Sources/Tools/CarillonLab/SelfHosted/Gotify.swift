import Foundation

/// Answers requests to the lab's Gotify server, and records them.
struct GotifyResponder: Sendable {
    let core: LabCore

    func decide(_ request: LabRequest) -> HTTP1Step {
        switch (request.method, request.path) {
        case ("GET", "/health"):
            return .answer(HTTPAnswer(status: 200, json: #"{"health":"green","database":"green"}"#))
        case ("GET", "/version"): return .answer(HTTPAnswer(status: 200, json: #"{"version":"2.6.3"}"#))
        // Not recorded: it may come from a client of the program that used the port before.
        case ("GET", _): return .answer(GotifyError.notFound.reply.answer)
        default: break
        }
        let token = Self.token(of: request)
        return HTTP1Step(
            core.decide(request, of: .gotify, target: token ?? "") { _ throws(GotifyError) in
                try take(request, token)
            } refuse: {
                $0.reply
            } ordered: {
                GotifyError.ordered($0).reply
            }
        )
    }

    private func take(_ request: LabRequest, _ token: String?) throws(GotifyError) -> LabReply {
        guard request.method == "POST", request.path == "/message" else { throw .notFound }
        let (number, application) = try core.withState { state throws(GotifyError) in
            try state.gotify.application(of: token)
        }
        let message = try GotifyMessage(checking: request)
        let id = core.withState { $0.gotify.nextMessage() }
        let answer = message.answer(id: id, application: application, appID: number, now: core.now())
        return LabReply(
            answer: HTTPAnswer(status: 200, json: answer.compact),
            detail: message.complaint,
            message: answer
        )
    }

    private static func token(of request: LabRequest) -> String? {
        if let token = request.query["token"] ?? request.header("x-gotify-key") { return token }
        let words = request.header("authorization")?.split(separator: " ", maxSplits: 1) ?? []
        return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    }
}

/// The state of the lab's Gotify.
struct GotifyState: Sendable {
    private var applications: [(number: Int64, application: GotifyApplication)] = []
    private var lastApplication: Int64 = 0
    private var lastMessage: Int64 = 0

    init(_ applications: [GotifyApplication]) {
        for application in applications {
            declare(application)
        }
    }

    mutating func declare(_ application: GotifyApplication) {
        remove(application.token)
        lastApplication += 1
        applications.append((lastApplication, application))
    }

    /// Makes a token invalid.
    mutating func remove(_ token: String) {
        applications.removeAll { $0.application.token == token }
    }

    func application(of token: String?) throws(GotifyError) -> (number: Int64, application: GotifyApplication) {
        guard let token, let found = applications.first(where: { $0.application.token == token }) else {
            throw .unauthorized
        }
        return found
    }

    mutating func nextMessage() -> Int64 {
        lastMessage += 1
        return lastMessage
    }
}

/// An application that may send to the lab's Gotify server.
public struct GotifyApplication: Sendable, Hashable {
    /// 15 characters that start with `A`.
    public var token: String
    /// The title of messages without one.
    public var name: String
    /// The priority of messages without one.
    public var defaultPriority: Int

    /// Accepts a token of any form. The defaults are those of a lab's default application.
    public init(token: String = "Acarillon.lab01", name: String = "Carillon", defaultPriority: Int = 5) {
        self.token = token
        self.name = name
        self.defaultPriority = defaultPriority
    }
}

/// A message to Gotify, from JSON or a form.
struct GotifyMessage {
    /// The first parts of names in `extras` that Gotify knows. Apps may use others.
    private static let tops: Set = ["gotify", "android", "ios", "web", "server", "client"]

    var text: String
    var title: String?
    var priority: Int64?
    var extras: [String: JSONValue]?

    init(checking request: LabRequest) throws(GotifyError) {
        let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
        if type == "application/json" {
            try self.init(json: request.body)
        } else if type == "application/x-www-form-urlencoded" {
            try self.init(form: LabRequest.parameters(of: String(decoding: request.body, as: UTF8.self)))
        } else {
            // Without a content type Gotify reads no body. It accepts the query's parameters like those of a form.
            try self.init(form: request.query)
        }
        guard !text.isEmpty else { throw .badRequest("Field 'message' is required") }
    }

    private init(json body: [UInt8]) throws(GotifyError) {
        guard let members = JSONValue(parsing: body)?.object else { throw .badRequest("the body is not a JSON object") }
        func member<Value>(_ name: String, _ type: String, _ read: (JSONValue) -> Value?) throws(GotifyError) -> Value?
        {
            guard let value = members[name], value != .null else { return nil }
            guard let read = read(value) else {
                throw .badRequest("json: cannot unmarshal field \(name) into a value of type \(type)")
            }
            return read
        }
        text = try member("message", "string") { $0.string } ?? ""
        title = try member("title", "string") { $0.string }
        priority = try member("priority", "int") { $0.integer }
        extras = try member("extras", "map[string]interface {}") { $0.object }
    }

    private init(form: [String: String]) throws(GotifyError) {
        text = form["message"] ?? ""
        title = form["title"]
        if let number = form["priority"] {
            guard let priority = Int64(number) else { throw .badRequest("strconv.ParseInt: parsing: invalid syntax") }
            self.priority = priority
        }
    }

    /// A problem that Gotify accepts but its clients do not.
    var complaint: String? {
        for (name, value) in (extras ?? [:]).sorted(by: { $0.key < $1.key }) {
            let parts = name.components(separatedBy: "::")
            guard parts.count >= 2, !parts.contains("") else {
                return "extras: \"\(name)\" is not of the form top::action"
            }
            guard Self.tops.contains(parts[0]) else { continue }
            guard value.object != nil else { return "extras: \"\(name)\" is not an object" }
            if name == "client::display", !["text/plain", "text/markdown"].contains(value["contentType"]?.string) {
                return "extras: the contentType of client::display is neither text/plain nor text/markdown"
            }
            if name == "client::notification", let click = value["click"], click["url"]?.string == nil {
                return "extras: client::notification has click without url"
            }
        }
        return nil
    }

    /// The response to the message. `now` is in milliseconds since 1970.
    func answer(id: Int64, application: GotifyApplication, appID: Int64, now: Int64) -> JSONValue {
        var members: [String: JSONValue] = [
            "id": .integer(id), "appid": .integer(appID), "message": .string(text),
            "title": .string(title ?? application.name),
            "priority": .integer(priority ?? Int64(application.defaultPriority)),
            "date": .string(Date(timeIntervalSince1970: Double(now) / 1_000).formatted(.iso8601)),
        ]
        members["extras"] = extras.map(JSONValue.object)
        return .object(members)
    }
}

/// An error in Gotify's own format: `{"error":"Unauthorized","errorCode":401,"errorDescription":"…"}`.
struct GotifyError: Error, Equatable {
    var status: Int
    var description: String

    static let unauthorized = GotifyError(
        status: 401,
        description: "you need to provide a valid access token or user credentials to access this api"
    )
    static let notFound = GotifyError(status: 404, description: "page not found")

    static func badRequest(_ description: String) -> GotifyError { GotifyError(status: 400, description: description) }

    /// The error that a misbehaviour orders. Its reason is the description.
    static func ordered(_ answer: OrderedAnswer) -> GotifyError {
        let usual: String =
            switch answer.status {
            case 400: "Field 'message' is required"
            case 401: unauthorized.description
            case 403: "you are not allowed to access this api"
            case 404: notFound.description
            default: "an error occurred"
            }
        return GotifyError(status: answer.status, description: answer.reason ?? answer.message ?? usual)
    }

    private static let names = [
        400: "Bad Request", 401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 413: "Request Entity Too Large",
        429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway", 503: "Service Unavailable",
    ]

    var reply: LabReply {
        let body = JSONValue.object([
            "error": .string(Self.names[status] ?? "Error"), "errorCode": .integer(Int64(status)),
            "errorDescription": .string(description),
        ])
        return LabReply(answer: HTTPAnswer(status: status, json: body.compact), reason: description)
    }
}
