import PluginKit

extension FCMTransport {
    /// Exchanges an assertion for an access token; `completion` is called once, perhaps before this returns.
    func requestToken(_ completion: @escaping @Sendable (TokenAnswer) -> Void) {
        let askedAt = now()
        guard let form = try? TokenAssertion.form(account, now: askedAt) else {
            return completion(.failed(Outcome(.misconfigured, reason: "assertion-not-signed")))
        }
        var request = HTTPRequest("POST", url: account.tokenURL)
        request.timeout = FCMTransport.tokenTimeout
        request.maxResponseBytes = 16_384
        request.addHeader("content-type", "application/x-www-form-urlencoded")
        request.body = form
        let admission = host.send(request) { [now] response in completion(TokenAnswer(response, now: now())) }
        if case .accepted = admission { return }
        completion(.failed(Outcome(.retry, reason: "busy")))
    }
}
