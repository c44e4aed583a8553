/// Checks the requests for `messages:send` as strictly as FCM does.
struct FCMGate {
    /// What a good request is about.
    struct Passed {
        var projectID: String
        /// The registration token; empty for a topic or a condition.
        var target: String
    }

    let state: FCMState

    /// `now` in milliseconds since 1970.
    func judge(_ request: HTTP2Request, now: Int64) throws(FCMRefusal) -> Passed {
        guard request.method == "POST", let projectID = Self.projectID(request.path) else {
            throw FCMRefusal(.notFound, "Not found", detail: "expected POST /v1/projects/{project}/messages:send")
        }
        let account = try account(of: request, now: now)
        guard account.projectID == projectID else {
            guard state.accounts.contains(where: { $0.projectID == projectID }) else {
                throw FCMRefusal(.notFound, "Requested entity was not found.", detail: "there is no such project")
            }
            throw FCMRefusal(
                .permissionDenied,
                "Permission 'cloudmessaging.messages.create' denied on resource "
                    + "'//cloudresourcemanager.googleapis.com/projects/\(projectID)' (or it may not exist).",
                detail: "the service account is of another project"
            )
        }
        let type = request.header("content-type")?.split(separator: ";").first?.lowercased()
        guard type == "application/json" else {
            throw .badJSON("", "Invalid JSON payload received. The content-type is not application/json.")
        }
        let token = try FCMMessageCheck.check(request)
        if let token {
            try state.devices.check(token, of: projectID)
        }
        return Passed(projectID: projectID, target: token ?? "")
    }

    /// The token a request is for, as far as it can be read.
    static func target(of request: HTTP2Request) -> String {
        JSONValue(parsing: request.body)?["message"]?["token"]?.string ?? ""
    }

    static func projectID(_ path: String) -> String? {
        path.wholeMatch(of: /\/v1\/projects\/([A-Za-z0-9.:-]+)\/messages:send/).map { String($0.1) }
    }

    private func account(of request: HTTP2Request, now: Int64) throws(FCMRefusal) -> FCMServiceAccount.Key {
        guard let authorization = request.header("authorization") else {
            throw FCMRefusal(
                .unauthenticated,
                "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or "
                    + "other valid authentication credential.",
                detail: "there is no authorization header"
            )
        }
        let words = authorization.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bearer",
            let account = state.accessTokens.account(of: String(words[1]), now: now)
        else {
            throw FCMRefusal(
                .unauthenticated,
                "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
                    + "valid authentication credential.",
                detail: "authorization is not \"Bearer\", a blank and an access token that is good"
            )
        }
        return account
    }
}
