/// Takes what it is sent: the service of a plugin that the lab does not know.
struct OtherResponder: Sendable {
    let core: LabCore

    func decide(_ request: LabRequest) -> HTTP1Conduct {
        // Whoever redirects requests to the lab says here where they were to go.
        let target = request.header("x-forwarded-host") ?? ""
        let conduct = core.conduct(towards: target, of: .other)
        var answer = HTTPAnswer(status: 200, json: "{}")
        answer.replace(by: conduct) { HTTPAnswer(status: $0.status, json: "{}") }
        core.recorder.add(
            ReceivedRequest(
                request,
                to: .other,
                target: target,
                at: core.now(),
                answer,
                reason: nil,
                detail: nil,
                conduct
            )
        )
        return HTTP1Conduct(answer, misbehaving: conduct)
    }
}
