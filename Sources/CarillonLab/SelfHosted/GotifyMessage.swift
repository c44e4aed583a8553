import Foundation

/// A message to Gotify, from JSON or a form.
struct GotifyMessage {
    /// The first parts of names in `extras` that Gotify knows. Apps have others.
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

    /// What Gotify accepts and its clients cannot use.
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

    /// The answer to the message. `now` is in milliseconds since 1970.
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

/// An error in Gotify's own form: `{"error":"Unauthorized","errorCode":401,"errorDescription":"…"}`.
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

    private var name: String {
        switch status {
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 413: "Request Entity Too Large"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Error"
        }
    }

    var json: String {
        JSONValue.object([
            "error": .string(name), "errorCode": .integer(Int64(status)), "errorDescription": .string(description),
        ]).compact
    }
}
