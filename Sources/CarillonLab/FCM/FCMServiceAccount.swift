import Cipher
import Foundation

/// What an operator gets from Google to send with: a service account with its key, and the Firebase project it is of.
public struct FCMServiceAccount: Sendable, Hashable {
    /// The account's half that the lab's servers know.
    struct Key: Sendable {
        var email: String
        var keyID: String
        var publicKey: RSAPublicKey
        var projectID: String
    }

    /// The only Firebase project the account may send for: 403 `PERMISSION_DENIED` for another one of the lab's, 404
    /// for any other.
    public var projectID: String
    /// The account's name.
    public var clientEmail: String
    /// `kid` of its assertions, where they name one: any other is refused. 40 hex digits in a key that the lab made.
    public var privateKeyID: String
    /// PKCS#8.
    public var privateKeyPEM: String

    /// The one that labs have which are given none: making a key takes longer than all else in a lab.
    public static let ofThisProcess = FCMServiceAccount()

    /// Makes a new key, which takes some 100 ms.
    public init(projectID: String = "carillon-lab") {
        self.projectID = projectID
        clientEmail = "push@\(projectID).iam.gserviceaccount.com"
        privateKeyID = Hex.encode(SecureRandom.bytes(20))
        privateKeyPEM = RSAPrivateKey().pemRepresentation
    }

    /// Takes a key that exists.
    public init(projectID: String, clientEmail: String, privateKeyID: String, privateKeyPEM: String) {
        self.projectID = projectID
        self.clientEmail = clientEmail
        self.privateKeyID = privateKeyID
        self.privateKeyPEM = privateKeyPEM
    }

    /// The content of the file that Google hands out; `tokenURI` is where it is exchanged for access tokens.
    public func json(tokenURI: String) -> String {
        let file = File(
            project_id: projectID,
            private_key_id: privateKeyID,
            private_key: privateKeyPEM,
            client_email: clientEmail,
            token_uri: tokenURI
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(file)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
    }

    /// Reads such a file back. Throws `LabError` where it is none.
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
