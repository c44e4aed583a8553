import Console
import Dispatch
import Rules
import Units

/// An endpoint with what the API's description says of it.
package struct APIOperation: Sendable {
    /// What comes with the status of success.
    enum Content: Sendable {
        case json(JSONTree)
        /// Of that type.
        case text(String)
        /// Server-sent events; the schema of the data of each, by the event's name.
        case events(JSONTree)
    }

    let endpoint: APIEndpoint
    let group: Group
    let summary: String
    let content: Content
    /// The status of success.
    let status: Int
    /// The other statuses of success, each with its meaning and schema.
    let others: [(status: Int, summary: String, form: JSONTree)]
    /// The schema of the body that it takes.
    let body: JSONTree?

    /// Parts of the description.
    enum Group: String, Sendable, CaseIterable {
        case me, session, notify, now, events, devices, queue, relays, users, rules, router, description
    }

    init(
        _ endpoint: APIEndpoint,
        _ group: Group,
        _ summary: String,
        _ content: Content,
        status: Int = 200,
        others: [(status: Int, summary: String, form: JSONTree)] = [],
        body: JSONTree? = nil
    ) {
        self.endpoint = endpoint
        self.group = group
        self.summary = summary
        self.content = content
        self.status = status
        self.others = others
        self.body = body
    }

    /// What reports something in JSON.
    static func report<Answer: OperatorAnswer>(
        _ method: APIEndpoint.Method,
        _ path: String,
        for access: APIAccess,
        _ group: Group,
        _ summary: String,
        _ parameters: [APIParameter] = [],
        formerly formerPaths: [String] = [],
        body: JSONTree? = nil,
        bodyLimit: ByteCount? = nil,
        answer: @escaping @Sendable (APICall) async throws -> Answer
    ) -> APIOperation {
        let endpoint = APIEndpoint(
            method,
            path,
            for: access,
            parameters,
            formerly: formerPaths,
            body: body == nil ? nil : APIBody(limit: bodyLimit)
        ) { call in
            do {
                return ConsoleAnswer(body: try await answer(call).json + "\n")
            } catch let failure as OperationFailure {
                throw APIProblem(failure)
            }
        }
        return APIOperation(endpoint, group, summary, .json(AnswerSchema.of(Answer.self)), body: body)
    }

    /// The same where files are read: the disk may keep us waiting, which the threads that tasks share must not.
    static func reading<Answer: OperatorAnswer>(
        _ path: String,
        for access: APIAccess = .scope(.read),
        _ group: Group,
        _ summary: String,
        _ parameters: [APIParameter] = [],
        formerly formerPaths: [String] = [],
        answer: @escaping @Sendable (APICall) throws -> Answer
    ) -> APIOperation {
        report(.get, path, for: access, group, summary, parameters, formerly: formerPaths) { call in
            try await DiskWork.run { try answer(call) }
        }
    }

    /// The same for changes.
    static func change<Answer: OperatorAnswer>(
        _ method: APIEndpoint.Method = .post,
        _ path: String,
        _ group: Group,
        _ summary: String,
        _ parameters: [APIParameter] = [],
        formerly formerPaths: [String] = [],
        answer: @escaping @Sendable (APICall) throws -> Answer
    ) -> APIOperation {
        report(method, path, for: .scope(.operate), group, summary, parameters, formerly: formerPaths) { call in
            try await DiskWork.run { try answer(call) }
        }
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

extension APIProblem {
    init(_ failure: OperationFailure) {
        let status =
            switch failure.kind {
            case .invalid: 400
            case .unknown: 404
            case .unavailable, .unreachable: 503
            }
        self.init(status, failure)
    }

    /// The same with a status of the operation's own.
    init(_ status: Int, _ failure: OperationFailure) {
        if let says = failure.says {
            self.init(status, Sentence(says.code, says.values, failure.description))
        } else {
            self.init(status, failure.description)
        }
    }
}
