import Cipher
import Foundation

/// The declared registration tokens, and the rule for others.
struct FCMDevices {
    private var devices: [String: FCMDevice] = [:]
    private let acceptsUndeclared: Bool

    init(_ devices: [FCMDevice], acceptsUndeclared: Bool) {
        self.acceptsUndeclared = acceptsUndeclared
        declare(contentsOf: devices)
    }

    /// Replaces earlier declarations of the same tokens.
    mutating func declare(contentsOf devices: [FCMDevice]) {
        for device in devices {
            self.devices[device.token] = device
        }
    }

    func check(_ token: String, of project: String) throws(FCMError) {
        let isPlausible =
            (32...4096).contains(token.utf8.count)
            && token.consistsOfLettersDigits(and: "-_:")
        guard isPlausible else { throw .invalidToken("the token's length or characters are invalid") }
        let device = devices[token]
        switch device?.state ?? (acceptsUndeclared ? .registered : .invalid) {
        case .registered:
            guard device?.project.map({ $0 == project }) ?? true else { throw Self.otherSender }
        case .unregistered: throw FCMError(FCMErrorCode.unregistered, detail: "the app is not on this device")
        case .otherSender: throw Self.otherSender
        case .invalid: throw .invalidToken("the token is not one of a device")
        }
    }

    private static let otherSender = FCMError(
        FCMErrorCode.senderIDMismatch,
        detail: "the token is of another project"
    )
}

/// A registration token in the lab's FCM.
public struct FCMDevice: Sendable, Hashable {
    /// FCM's response to messages for a token ("ErrorCode"). The raw values are those of the control endpoint.
    public enum State: String, Sendable, Hashable, Decodable {
        case registered
        /// The app was removed: 404 `UNREGISTERED`.
        case unregistered
        /// The token of another Firebase project: 403 `SENDER_ID_MISMATCH`.
        case otherSender = "other_sender"
        /// Not a token: 400 `INVALID_ARGUMENT`.
        case invalid
    }

    /// 32 to 4096 characters of `[A-Za-z0-9_:-]`, case-sensitive. Any other token gets 400 `INVALID_ARGUMENT`, even if
    /// it is declared.
    public var token: String
    /// `project` matters only if it is registered.
    public var state: State
    /// The token's project; others get 403 `SENDER_ID_MISMATCH`. Nil for all.
    public var project: String?

    /// Accepts any text as token. Default: every project may send to it.
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

    /// Reads `{"token": "…", "state": "unregistered", "project": "…"}`. `state` is registered, unregistered,
    /// other_sender or invalid. Default: registered.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let word = try container.decodeIfPresent(String.self, forKey: .state) ?? State.registered.rawValue
        guard let state = State(rawValue: word) else {
            throw container.invalid(.state, "state is one of registered, unregistered, other_sender, invalid")
        }
        self.init(
            token: try container.decode(String.self, forKey: .token),
            state: state,
            project: try container.decodeIfPresent(String.self, forKey: .project)
        )
    }
}

/// The state of the lab's FCM and its token endpoint.
struct FCMState {
    var accounts: [FCMServiceAccount.Key] = []
    var devices = FCMDevices([], acceptsUndeclared: true)
    var accessTokens = AccessTokens<FCMServiceAccount.Key>()
    /// Set once the server listens.
    var tokenURL = ""

    init() {}

    /// Throws `LabError` for an invalid key.
    init(_ configuration: LabConfiguration.FCM) throws {
        accounts = try configuration.accounts.map { try $0.key() }
        devices = FCMDevices(configuration.devices, acceptsUndeclared: configuration.acceptsUndeclaredDevices)
    }
}

/// An operator's credentials from Google: a service account with its key and Firebase project.
public struct FCMServiceAccount: Sendable, Hashable {
    /// The public part of the account, for the lab's servers.
    struct Key: Sendable {
        var email: String
        var keyID: String
        var publicKey: RSAPublicKey
        var projectID: String
    }

    /// The only Firebase project that the account may send for. Others get 403 `PERMISSION_DENIED` if the lab has them,
    /// otherwise 404.
    public var projectID: String
    /// The account's name.
    public var clientEmail: String
    /// The `kid` of its assertions. They may omit it; any other is refused. 40 hex digits in a key of the lab.
    public var privateKeyID: String
    /// PKCS#8.
    public var privateKeyPEM: String

    /// The default account of labs. Making a key takes longer than everything else in a lab.
    public static let ofThisProcess = FCMServiceAccount()

    /// Makes a new key, which takes about 100 ms.
    public init(projectID: String = "carillon-lab") {
        self.projectID = projectID
        clientEmail = "push@\(projectID).iam.gserviceaccount.com"
        privateKeyID = Hex.encode(SecureRandom.bytes(20))
        privateKeyPEM = RSAPrivateKey().pemRepresentation
    }

    /// Takes an existing key.
    public init(projectID: String, clientEmail: String, privateKeyID: String, privateKeyPEM: String) {
        self.projectID = projectID
        self.clientEmail = clientEmail
        self.privateKeyID = privateKeyID
        self.privateKeyPEM = privateKeyPEM
    }

    /// The content of the file that Google issues. `tokenURI` is the token endpoint.
    public func json(tokenURI: String) -> String {
        let file = File(
            project_id: projectID,
            private_key_id: privateKeyID,
            private_key: privateKeyPEM,
            client_email: clientEmail,
            token_uri: tokenURI
        )
        return file.jsonText(isPretty: true).map { $0 + "\n" } ?? ""
    }

    /// Reads such a file. Throws `LabError` if it is invalid.
    public init(json: String) throws {
        do {
            let file = try JSONDecoder().decode(File.self, from: Data(json.utf8))
            self.init(
                projectID: file.project_id,
                clientEmail: file.client_email,
                privateKeyID: file.private_key_id,
                privateKeyPEM: file.private_key
            )
        } catch let error as DecodingError {
            throw LabError.invalid("The service account is not readable: \(LabError.explain(error))")
        }
        _ = try key()
    }

    func key() throws -> Key {
        guard let key = try? RSAPrivateKey(pem: privateKeyPEM) else {
            throw LabError.invalid("The key of \(clientEmail) is not an RSA key of 2048 bits or more in PEM (PKCS#8).")
        }
        return Key(email: clientEmail, keyID: privateKeyID, publicKey: key.publicKey, projectID: projectID)
    }

    // Google's names.
    private struct File: Codable {
        var type = "service_account"
        var project_id: String
        var private_key_id: String
        var private_key: String
        var client_email: String
        var token_uri: String
    }
}

extension FCMServiceAccount: CustomStringConvertible {
    /// Without the key.
    public var description: String { "FCMServiceAccount(\(clientEmail), projectID: \(projectID))" }
}
