import Foundation

/// The state of the lab's Push Kit and its token endpoint.
struct HMSState: Sendable {
    let applications: [HMSApplication]
    var devices: [String: HMSDevice]
    var accessTokens = AccessTokens<String>()
    private let acceptsUndeclared: Bool

    init(_ configuration: LabConfiguration.HMS?) {
        applications = configuration?.applications ?? []
        devices = Dictionary((configuration?.devices ?? []).map { ($0.token, $0) }) { _, last in last }
        acceptsUndeclared = configuration?.acceptsUndeclaredDevices ?? true
    }

    func check(_ token: String, of application: String) throws(HMSRefusal) {
        let isPlausible = (32...1024).contains(token.utf8.count) && token.consistsOfLettersDigits(and: "-_:.=")
        guard isPlausible else { throw .invalidTokens("the token is none by its length or its characters") }
        let device = devices[token]
        switch device?.state ?? (acceptsUndeclared ? .registered : .invalid) {
        case .registered:
            guard device?.application.map({ $0 == application }) ?? true else {
                throw .invalidTokens("the token is of another app")
            }
        case .invalid: throw .invalidTokens("the token is not one of a device, or not any more")
        case .forbidden: throw HMSRefusal(.forbidden, detail: "the app may not send to this device")
        }
    }
}

/// An operator's app at Huawei.
public struct HMSApplication: Sendable, Hashable {
    /// A number, which is the OAuth client id as well.
    public var appID: String
    /// Exchanged for access tokens.
    public var clientSecret: String

    /// Accepts any texts.
    public init(appID: String = "100000001", clientSecret: String = "lab-secret&of=huawei's") {
        self.appID = appID
        self.clientSecret = clientSecret
    }
}

/// A token of Push Kit, as the lab knows it.
public struct HMSDevice: Sendable, Hashable {
    /// Push Kit's answer to messages for a token. The raw values are those of the control endpoint.
    public enum State: String, Sendable, Hashable, Decodable, CaseIterable {
        case registered
        /// Not a token, or not any more: `80300007`.
        case invalid
        /// `80300002`.
        case forbidden
    }

    /// 32 to 1024 letters, digits and `-_:.=`. Any other token is invalid, even if it is declared.
    public var token: String
    /// `application` matters only if it is registered.
    public var state: State
    /// The id of the token's app; to others it is invalid. Nil for all.
    public var application: String?

    /// Accepts any text as token. By default every app may send to it.
    public init(token: String, state: State = .registered, application: String? = nil) {
        self.token = token
        self.state = state
        self.application = application
    }
}

extension HMSDevice: Decodable {
    private enum CodingKeys: CodingKey {
        case token
        case state
        case application
    }

    /// Reads `{"token": "…", "state": "invalid", "application": "…"}`. `state` is registered (the default), invalid or
    /// forbidden.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let word = try container.decodeIfPresent(String.self, forKey: .state) ?? State.registered.rawValue
        guard let state = State(rawValue: word) else {
            throw DecodingError.dataCorruptedError(
                forKey: .state,
                in: container,
                debugDescription: "state is one of \(State.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        self.init(
            token: try container.decode(String.self, forKey: .token),
            state: state,
            application: try container.decodeIfPresent(String.self, forKey: .application)
        )
    }
}
