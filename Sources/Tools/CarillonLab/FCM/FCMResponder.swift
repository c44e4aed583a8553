import Cipher

/// Answers the requests of one connection to the lab's FCM and its token endpoint, and records them.
struct FCMResponder: HTTP2Responder {
    static let tokenPath = "/token"

    let core: LabCore
    /// How long access tokens are valid, in seconds.
    let tokenLifetime: Int

    mutating func decide(_ request: LabRequest) -> LabDecision {
        request.uri == Self.tokenPath ? decideToken(request) : decideMessage(request)
    }

    private func decideToken(_ request: LabRequest) -> LabDecision {
        let now = core.now()
        return core.decide(request, of: .oauth, target: "") { target throws(TokenEndpointError) in
            let state = core.withState { $0.fcm }
            let account = try TokenRequestCheck(accounts: state.accounts, tokenURL: state.tokenURL)
                .check(request, now: now)
            target = account.email
            let lifetime = Int64(tokenLifetime) * 1_000
            let token = core.withState {
                $0.fcm.accessTokens.grant(to: account, lifetime: lifetime, now: now, random: core.random)
            }
            let grant = #"{"access_token":"\#(token)","expires_in":\#(tokenLifetime - 1),"token_type":"Bearer"}"#
            return LabReply(answer: HTTPAnswer(status: 200, json: Array(grant.utf8)))
        } refuse: {
            $0.reply
        } ordered: {
            TokenEndpointError.ordered($0).reply
        }
    }

    private func decideMessage(_ request: LabRequest) -> LabDecision {
        let now = core.now()
        let target = JSONValue(parsing: request.body)?["message"]?["token"]?.string ?? ""
        return core.decide(request, of: .fcm, target: target) { _ throws(FCMError) in
            let projectID = try FCMRequestCheck(state: core.withState { $0.fcm }).check(request, now: now)
            let id = "0:\(now * 1_000)%\(Hex.encode(core.random(8)))"
            let name = #"{"name":"projects/\#(projectID)/messages/\#(id)"}"#
            return LabReply(answer: HTTPAnswer(status: 200, json: Array(name.utf8)))
        } refuse: {
            $0.reply
        } ordered: {
            FCMError.ordered($0, project: FCMRequestCheck.projectID(request.uri) ?? "").reply
        }
    }
}

/// Checks the requests for `messages:send` as strictly as FCM.
struct FCMRequestCheck {
    let state: FCMState

    /// Returns the project. `now` is in milliseconds since 1970.
    func check(_ request: LabRequest, now: Int64) throws(FCMError) -> String {
        guard request.method == "POST", let projectID = Self.projectID(request.uri) else {
            throw FCMError(.notFound, "Not found", detail: "expected POST /v1/projects/{project}/messages:send")
        }
        let account = try account(of: request, now: now)
        guard account.projectID == projectID else {
            guard state.accounts.contains(where: { $0.projectID == projectID }) else {
                throw FCMError(.notFound, "Requested entity was not found.", detail: "there is no such project")
            }
            throw FCMError(
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
        if let token = try FCMMessageCheck.check(request) {
            try state.devices.check(token, of: projectID)
        }
        return projectID
    }

    static func projectID(_ path: String) -> String? {
        path.wholeMatch(of: /\/v1\/projects\/([A-Za-z0-9.:-]+)\/messages:send/).map { String($0.1) }
    }

    private func account(of request: LabRequest, now: Int64) throws(FCMError) -> FCMServiceAccount.Key {
        guard let authorization = request.header("authorization") else {
            throw FCMError(
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
            throw FCMError(
                .unauthenticated,
                "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other "
                    + "valid authentication credential.",
                detail: "authorization is not \"Bearer\", a blank and an access token that is good"
            )
        }
        return account
    }
}

/// Checks a body of `messages:send` by FCM's reference.
enum FCMMessageCheck {
    /// FCM's limit for names and values of data and notification, in bytes.
    static let limit = 4_096

    private static let targets = ["token", "topic", "condition"]
    private static let reservedNames: Set = ["from", "message_type", "collapse_key"]
    private static let reservedPrefixes = ["google", "gcm"]

    /// Returns the message's registration token; nil for a topic or a condition.
    static func check(_ request: LabRequest) throws(FCMError) -> String? {
        guard !request.isCut, let body = JSONValue(parsing: request.body), body.object != nil else {
            throw .badJSON("", "Invalid JSON payload received. Expected an object.")
        }
        try FCMField.sendRequest.check(body, at: "")
        guard let message = body["message"], message.object != nil else {
            throw .badField("message", "The message is not set.")
        }
        let targets = targets.filter { message[$0].map { $0 != .null } ?? false }
        guard targets.count == 1 else {
            throw targets.isEmpty
                ? .badField("message", "Recipient of the message is not set.")
                : .badJSON("message", "Invalid value at 'message' (oneof), oneof field 'target' is already set.")
        }
        for (place, data) in [("data", message["data"]), ("android.data", message["android"]?["data"])] {
            try checkNames(data, at: "message." + place)
        }
        let size = size(of: message)
        guard size <= limit else {
            throw FCMError(
                FCMErrorCode.invalidArgument,
                "Android message is too big",
                detail: "data and notification have \(size) bytes, at most \(limit) are allowed"
            )
        }
        return message["token"]?.string
    }

    private static func checkNames(_ data: JSONValue?, at path: String) throws(FCMError) {
        for name in (data?.object ?? [:]).keys.sorted() {
            guard !reservedNames.contains(name), !reservedPrefixes.contains(where: name.hasPrefix) else {
                throw .badField(path, "Invalid data payload key: \(name)")
            }
        }
    }

    static func size(of message: JSONValue) -> Int {
        let android = message["android"]
        let objects = [android?["data"] ?? message["data"], message["notification"], android?["notification"]]
        return objects.compactMap { $0?.object }.joined().reduce(0) { sum, member in
            sum + member.key.utf8.count + (member.value.string ?? member.value.compact).utf8.count
        }
    }
}
