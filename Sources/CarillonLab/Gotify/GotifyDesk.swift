/// Decides what requests to the lab's Gotify server get, and records it.
struct GotifyDesk: Sendable {
    let core: LabCore

    func decide(_ request: HTTP1Request) -> HTTP1Conduct {
        switch (request.method, request.path) {
        case ("GET", "/health"):
            return .answer(HTTPAnswer(status: 200, json: #"{"health":"green","database":"green"}"#))
        case ("GET", "/version"): return .answer(HTTPAnswer(status: 200, json: #"{"version":"2.6.3"}"#))
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
        switch conduct {
        case .answer(let ordered):
            if ordered.status >= 300 {
                let error = GotifyError.ordered(ordered)
                answer = HTTPAnswer(status: ordered.status, json: error.json)
                reason = error.description
            }
            answer.apply(ordered)
        case .html(let status): answer = HTTPAnswer(htmlWithStatus: status)
        default: break
        }
        var received = ReceivedRequest(
            service: .gotify,
            receivedAt: now,
            connection: request.connection,
            method: request.method,
            path: request.uri,
            target: token ?? "",
            status: conduct?.sendsNoAnswer == true ? nil : answer.status,
            reason: reason,
            detail: detail,
            misbehaviour: conduct,
            headers: request.headers,
            body: request.body
        )
        received.message = message
        core.recorder.add(received)
        return HTTP1Conduct(answer, misbehaving: conduct)
    }

    private func take(
        _ request: HTTP1Request,
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

    private static func token(of request: HTTP1Request) -> String? {
        if let token = request.query["token"] ?? request.header("x-gotify-key") { return token }
        let words = request.header("authorization")?.split(separator: " ", maxSplits: 1) ?? []
        return words.count == 2 && words[0].lowercased() == "bearer" ? String(words[1]) : nil
    }
}
