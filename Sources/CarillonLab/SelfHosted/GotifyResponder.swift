/// Answers requests to the lab's Gotify server, and records them.
struct GotifyResponder: Sendable {
    let core: LabCore

    func decide(_ request: LabRequest) -> HTTP1Conduct {
        switch (request.method, request.path) {
        case ("GET", "/health"):
            return .answer(HTTPAnswer(status: 200, json: #"{"health":"green","database":"green"}"#))
        case ("GET", "/version"): return .answer(HTTPAnswer(status: 200, json: #"{"version":"2.6.3"}"#))
        // Not recorded: it may come from somebody who looks for the program that had the port before.
        case ("GET", _):
            return .answer(HTTPAnswer(status: GotifyError.notFound.status, json: GotifyError.notFound.json))
        default: break
        }
        let now = core.now()
        let token = Self.token(of: request)
        var answer: HTTPAnswer
        var reason: String?
        var detail: String?
        var message: JSONValue?
        var conduct: Misbehaviour.Conduct?
        do throws(GotifyError) {
            let taken = try take(request, token, now: now)
            answer = HTTPAnswer(status: 200, json: taken.answer.compact)
            message = taken.answer
            detail = taken.complaint
            conduct = core.conduct(towards: token ?? "", of: .gotify)
        } catch {
            answer = HTTPAnswer(status: error.status, json: error.json)
            reason = error.description
        }
        answer.replace(by: conduct) { ordered in
            let error = GotifyError.ordered(ordered)
            reason = error.description
            return HTTPAnswer(status: ordered.status, json: error.json)
        }
        var received = ReceivedRequest(
            request,
            to: .gotify,
            target: token ?? "",
            at: now,
            answer,
            reason: reason,
            detail: detail,
            conduct
        )
        received.message = message
        core.recorder.add(received)
        return HTTP1Conduct(answer, misbehaving: conduct)
    }

    private func take(
        _ request: LabRequest,
        _ token: String?,
        now: Int64
    ) throws(GotifyError) -> (answer: JSONValue, complaint: String?) {
        guard request.method == "POST", request.path == "/message" else { throw .notFound }
        let (number, application) = try core.withState { state throws(GotifyError) in
            try state.gotify.application(of: token)
        }
        let message = try GotifyMessage(checking: request)
        let id = core.withState { $0.gotify.nextMessage() }
        return (message.answer(id: id, application: application, appID: number, now: now), message.complaint)
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
    /// 15 characters that begin with `A`.
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
