import Console
import Core
import Dispatch
import Foundation
import JSON
import NIOCore
import Push
import Rules

/// An endpoint with its entry in the API's description.
package struct APIOperation: Sendable {
    /// The content of a successful response.
    enum Content: Sendable {
        case json(JSONValue)
        /// Text of this content type.
        case text(String)
        /// Server-sent events; the schema of each event's data by the event's name.
        case events(JSONValue)
    }

    let endpoint: APIEndpoint
    let group: Group
    let summary: String
    let content: Content
    /// The status of success.
    var status = 200
    /// The other success statuses, each with its meaning and schema.
    var others: [(status: Int, summary: String, form: JSONValue)] = []
    /// The schema of the request's body.
    let body: JSONValue?

    /// Sections of the description.
    package enum Group: String, Sendable, CaseIterable {
        case me, session, notify, now, events, devices, queue, relays, users, rules, router, description
    }

    /// Method, path and access of an operation. Default: GET requires the scope `read`, other methods the scope
    /// `operate`.
    package struct Route: Sendable {
        let method: APIEndpoint.Method
        let path: String
        let access: APIAccess

        package static func get(_ path: String, for access: APIAccess = .scope(.read)) -> Route {
            Route(method: .get, path: path, access: access)
        }

        package static func post(_ path: String, for access: APIAccess = .scope(.operate)) -> Route {
            Route(method: .post, path: path, access: access)
        }

        package static func patch(_ path: String, for access: APIAccess = .scope(.operate)) -> Route {
            Route(method: .patch, path: path, access: access)
        }

        package static func delete(_ path: String, for access: APIAccess = .scope(.operate)) -> Route {
            Route(method: .delete, path: path, access: access)
        }
    }

    /// The body that an operation takes.
    package struct Body {
        let schema: JSONValue
        /// The maximum length, if it differs from the default.
        var limit: ByteCount?
    }

    init(_ endpoint: APIEndpoint, _ group: Group, _ summary: String, _ content: Content, body: JSONValue? = nil) {
        (self.endpoint, self.group, self.summary, self.content) = (endpoint, group, summary, content)
        self.body = body
    }

    /// Makes an operation that returns a report in JSON.
    package static func report<Answer: OperatorAnswer>(
        _ route: Route,
        _ group: Group,
        _ summary: String,
        _ parameters: [APIParameter] = [],
        body: Body? = nil,
        answer: @escaping @Sendable (APICall) async throws -> Answer
    ) -> APIOperation {
        let endpoint = APIEndpoint(
            route.method,
            route.path,
            for: route.access,
            parameters,
            body: body.map { APIBody(limit: $0.limit) }
        ) { call in
            do {
                return ConsoleAnswer(body: try await answer(call).json + "\n")
            } catch let failure as OperationError {
                throw APIError(failure)
            }
        }
        return APIOperation(endpoint, group, summary, .json(AnswerSchema.of(Answer.self)), body: body?.schema)
    }

    /// Makes an operation that reads or writes files. It runs on other threads, because the shared task threads must
    /// not wait for the disk.
    static func onDisk<Answer: OperatorAnswer>(
        _ route: Route,
        _ group: Group,
        _ summary: String,
        _ parameters: [APIParameter] = [],
        answer: @escaping @Sendable (APICall) throws -> Answer
    ) -> APIOperation {
        report(route, group, summary, parameters) { call in try await DiskWork.run { try answer(call) } }
    }
}

/// Threads that may wait for the disk.
enum DiskWork {
    private static let queue = DispatchQueue(label: "carillon.api-files", attributes: .concurrent)

    static func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            queue.async { continuation.resume(with: Result { try body() }) }
        }
    }
}

extension APIError {
    init(_ failure: OperationError) {
        let status =
            switch failure.kind {
            case .invalid: 400
            case .unknown: 404
            case .unavailable, .unreachable: 503
            }
        self.init(status, failure)
    }

    /// Takes a status that the operation chooses.
    init(_ status: Int, _ failure: OperationError) {
        if let says = failure.says {
            self.init(status, Sentence(says.code, says.values, failure.description))
        } else {
            self.init(status, failure.description)
        }
    }
}

/// The JSON object in a request's body.
struct RequestObject {
    let object: JSONObject

    /// Throws an ``APIError`` if the body is not a JSON object, or has a member that is not in `members`.
    init(_ call: APICall, members: [String]) throws(APIError) {
        object = try JSONObject(call.body)
        if let unknown = object.members.first(where: { !members.contains($0.name) }) {
            throw APIError(400, "\(unknown.name.prefix(40)): expected \(members.joined(separator: ", "))")
        }
    }

    func has(_ name: String) -> Bool { object.members.contains { $0.name == name } }

    func text(_ name: String) throws(APIError) -> String? {
        try value(name, "a string") { if case .string(let text) = $0 { text } else { nil } }
    }

    /// Returns a required string of up to `limit` characters.
    func required(_ name: String, atMost limit: Int) throws(APIError) -> String {
        guard let text = try text(name), text.unicodeScalars.count <= limit else {
            throw APIError(400, "\(name): expected a string of up to \(limit) characters")
        }
        return text
    }

    func flag(_ name: String) throws(APIError) -> Bool? {
        try value(name, "true or false") { if case .bool(let flag) = $0 { flag } else { nil } }
    }

    func integer(_ name: String, in range: ClosedRange<Int64>) throws(APIError) -> Int64? {
        try value(name, "a whole number from \(range.lowerBound) to \(range.upperBound)") { value in
            guard case .number(let digits) = value, let number = Int64(digits), range.contains(number) else {
                return nil
            }
            return number
        }
    }

    func texts(_ name: String) throws(APIError) -> [String]? {
        try value(name, "a list of strings") { value in
            guard case .array(let elements) = value else { return nil }
            let texts = elements.compactMap { if case .string(let text) = $0 { text } else { nil as String? } }
            return texts.count == elements.count ? texts : nil
        }
    }

    func objects(_ name: String) throws(APIError) -> [JSONObject]? {
        try value(name, "a list of objects") { value in
            guard case .array(let elements) = value else { return nil }
            let objects = elements.compactMap { if case .object(let object) = $0 { object } else { nil } }
            return objects.count == elements.count ? objects : nil
        }
    }

    /// Returns the JSON text of an object. Throws an ``APIError`` if it is missing.
    func json(_ name: String) throws(APIError) -> [UInt8] {
        guard let value = object[name], case .object = value else { throw APIError(400, "\(name): expected an object") }
        return Array(value.json.utf8)
    }

    /// Nil if the member is missing. A null is an error unless `read` accepts it.
    private func value<Value>(
        _ name: String,
        _ expected: String,
        _ read: (JSONValue) -> Value?
    ) throws(APIError) -> Value? {
        guard let member = object.members.first(where: { $0.name == name }) else { return nil }
        guard let value = read(member.value) else { throw APIError(400, "\(name): expected \(expected)") }
        return value
    }
}

extension JSONObject {
    /// Parses the body of a request. Throws an ``APIError`` if it is not a JSON object.
    init(_ body: ByteBuffer) throws(APIError) {
        guard let text = String(validating: body.readableBytesView, as: UTF8.self) else {
            throw APIError(400, "the body: expected JSON in UTF-8")
        }
        let value: JSONValue
        do {
            value = try JSONValue(parsing: text)
        } catch {
            throw APIError(400, "the body: \(error)")
        }
        guard case .object(let object) = value else { throw APIError(400, "the body: expected a JSON object") }
        self = object
    }
}
