/// The registration tokens declared, and what becomes of the others.
struct FCMDevices {
    private var devices: [String: FCMDevice] = [:]
    private let acceptsUndeclared: Bool

    init(_ devices: [FCMDevice], acceptsUndeclared: Bool) {
        self.acceptsUndeclared = acceptsUndeclared
        declare(contentsOf: devices)
    }

    /// What was said of the same tokens before is forgotten.
    mutating func declare(contentsOf devices: [FCMDevice]) {
        for device in devices {
            self.devices[device.token] = device
        }
    }

    func check(_ token: String, of project: String) throws(FCMRefusal) {
        let isPlausible =
            (32...4096).contains(token.utf8.count)
            && token.utf8.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"):
                    true
                default: false
                }
            }
        guard isPlausible else { throw .invalidToken("the token is none by its length or its characters") }
        let device = devices[token]
        switch device?.state ?? (acceptsUndeclared ? .registered : .invalid) {
        case .registered:
            guard device?.project.map({ $0 == project }) ?? true else { throw Self.otherSender }
        case .unregistered: throw FCMRefusal(FCMErrorCode.unregistered, detail: "the app is not on this device")
        case .otherSender: throw Self.otherSender
        case .invalid: throw .invalidToken("the token is not one of a device")
        }
    }

    private static let otherSender = FCMRefusal(
        FCMErrorCode.senderIDMismatch,
        detail: "the token is of another project"
    )
}

/// What the lab's FCM knows of a registration token.
public struct FCMDevice: Sendable, Hashable {
    /// What FCM says to messages for a token ("ErrorCode"). The raw values are the words of the control endpoint.
    public enum State: String, Sendable, Hashable, Decodable {
        case registered
        /// The app is gone: 404 `UNREGISTERED`.
        case unregistered
        /// Of another Firebase project: 403 `SENDER_ID_MISMATCH`.
        case otherSender = "other_sender"
        /// No token at all: 400 `INVALID_ARGUMENT`.
        case invalid
    }

    /// 32 to 4096 characters of `[A-Za-z0-9_:-]`, case-sensitive; any other gets 400 `INVALID_ARGUMENT` whatever is
    /// declared of it.
    public var token: String
    /// Only where it is registered does `project` matter.
    public var state: State
    /// The project it is of; with any other, 403 `SENDER_ID_MISMATCH`. Nil for all.
    public var project: String?

    /// Takes any text for a token, and lets every project send to it unless told otherwise.
    public init(token: String, state: State = .registered, project: String? = nil) {
        self.token = token
        self.state = state
        self.project = project
    }
}

extension FCMDevice: Decodable {
    private enum CodingKeys: CodingKey {
        case token
        case state
        case project
    }

    /// From `{"token": "…", "state": "unregistered", "project": "…"}`; `state` is one of registered (the default), unregistered,
    /// other_sender and invalid.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let word = try container.decodeIfPresent(String.self, forKey: .state) ?? State.registered.rawValue
        guard let state = State(rawValue: word) else {
            throw DecodingError.dataCorruptedError(
                forKey: .state,
                in: container,
                debugDescription: "state is one of registered, unregistered, other_sender, invalid"
            )
        }
        self.init(
            token: try container.decode(String.self, forKey: .token),
            state: state,
            project: try container.decodeIfPresent(String.self, forKey: .project)
        )
    }
}

/// What the lab's FCM and its token endpoint know.
struct FCMState {
    var accounts: [FCMServiceAccount.Key] = []
    var devices = FCMDevices([], acceptsUndeclared: true)
    var accessTokens = AccessTokens()
    /// Known once the server listens.
    var tokenURL = ""

    init() {}

    /// Throws `LabError` where an account's key is none.
    init(_ configuration: LabConfiguration.FCM) throws {
        accounts = try configuration.accounts.map { try $0.key() }
        devices = FCMDevices(configuration.devices, acceptsUndeclared: configuration.acceptsUndeclaredDevices)
    }
}
