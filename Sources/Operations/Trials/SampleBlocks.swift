import Cipher
import Foundation

/// Platform blocks with throw-away keys, for trying rules before there is a configuration. They are good for nothing else:
/// no push service knows the keys.
enum SampleBlocks {
    /// The platforms whose blocks hold keys.
    static let platformsWithKeys: Set = ["ios", "android", "web"]

    /// The block of a built-in platform as JSON; an empty one for others.
    static func json(for platform: String) -> String {
        let block: [String: Any]
        switch platform {
        case "ios":
            block = [
                "topic": "com.example.app", "team_id": "TEAMID1234", "key_id": "KEYID12345",
                "key": P256PrivateKey().pemRepresentation,
            ]
        case "android":
            block = [
                "service_account_json": [
                    "type": "service_account", "project_id": "example-project", "private_key_id": "example",
                    "private_key": RSAPrivateKey().pemRepresentation,
                    "client_email": "carillon@example-project.iam.gserviceaccount.com",
                    "token_uri": "https://oauth2.googleapis.com/token",
                ]
            ]
        case "web":
            block = ["vapid_key": P256PrivateKey().pemRepresentation, "subject": "mailto:operator@example.com"]
        default:
            block = [:]
        }
        let data = try? JSONSerialization.data(withJSONObject: block, options: [.sortedKeys, .withoutEscapingSlashes])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
