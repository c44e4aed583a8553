import PluginKit
import Units

/// The configuration block of one app.
struct HMSConfiguration: Sendable {
    /// The app's id in AppGallery Connect, which is its OAuth client id as well.
    let appID: String
    let clientSecret: String
    /// Exchanges the secret for access tokens.
    let tokenURL: String
    /// Takes messages.
    let sendURL: String
    /// Whether Huawei lets the app send data messages that wake a sleeping device.
    let allowsHighPriority: Bool

    /// Throws for the first error: under which key it is, and what was expected.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(except: [
            "app_id", "client_secret", "client_secret_file", "high_priority", "token_url", "origin",
        ])
        let expectedID = "the app's id in AppGallery Connect, a number"
        appID = try HMSConfiguration.identifier(block, expected: expectedID)
        let expectedSecret = "the app's client secret in AppGallery Connect"
        guard
            let secret = try block.secret("client_secret", file: "client_secret_file", expected: expectedSecret)
        else { throw PluginError("client_secret: expected \(expectedSecret), found nothing") }
        clientSecret = secret
        guard (1...256).contains(clientSecret.utf8.count), clientSecret.utf8.allSatisfy(\.isVisibleASCII) else {
            throw PluginError("client_secret: expected \(expectedSecret), found another text")
        }
        let expectedURL = "an https URL"
        tokenURL =
            try block.text("token_url", expected: expectedURL) ?? "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
        guard HTTPURL(tokenURL)?.isSecure == true else {
            throw PluginError("token_url: expected \(expectedURL)")
        }
        let expectedOrigin = "https://host:port"
        let origin = try block.text("origin", expected: expectedOrigin) ?? "https://push-api.cloud.huawei.com"
        guard let url = HTTPURL(origin), url.isSecure, url.target.isEmpty else {
            throw PluginError("origin: expected \(expectedOrigin)")
        }
        sendURL = "\(url.origin)/v1/\(appID)/messages:send"
        allowsHighPriority = try block.flag("high_priority") ?? false
    }

    /// Numbers in YAML are numbers in JSON, so the id may be one.
    private static func identifier(_ block: JSONObject, expected: String) throws(PluginError) -> String {
        guard let value = block["app_id"], !value.isNull else {
            throw PluginError("app_id: expected \(expected), found nothing")
        }
        guard let id = value.string ?? value.integer.map(String.init), (1...32).contains(id.utf8.count),
            id.utf8.allSatisfy(\.isASCIIDigit)
        else { throw PluginError("app_id: expected \(expected), found \(value.kind)") }
        return id
    }
}

/// Gets access tokens from Huawei's token endpoint (RFC 6749 section 4.4).
struct ClientCredentials: Sendable {
    private static let timeout: Duration = .seconds(10)

    private let url: String
    private let form: [UInt8]
    private let host: Host
    private let now: @Sendable () -> Timestamp

    init(_ configuration: HMSConfiguration, host: Host, now: @escaping @Sendable () -> Timestamp) {
        url = configuration.tokenURL
        let secret = PercentEncoding.encode(configuration.clientSecret)
        form = [UInt8](
            "grant_type=client_credentials&client_id=\(configuration.appID)&client_secret=\(secret)".utf8
        )
        self.host = host
        self.now = now
    }

    /// Exchanges the secret for an access token. `completion` is called once, perhaps before this returns.
    func request(_ completion: @escaping @Sendable (TokenAnswer) -> Void) {
        var request = HTTPRequest("POST", url: url)
        request.timeout = ClientCredentials.timeout
        request.maxResponseBytes = 16_384
        request.addHeader("content-type", "application/x-www-form-urlencoded")
        request.body = form
        let admission = host.send(request) { [now] response in completion(TokenAnswer(response, now: now())) }
        if case .accepted = admission { return }
        completion(.failed(Outcome(.retry, reason: "busy")))
    }
}
