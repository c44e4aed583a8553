import Cipher
import Foundation

/// An operator's credentials from Google: a service account with its key and Firebase project.
public struct FCMServiceAccount: Sendable, Hashable {
    /// The part of the account that the lab's servers know.
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

    /// Takes a key that exists.
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
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(file)).map { String(decoding: $0, as: UTF8.self) + "\n" } ?? ""
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
