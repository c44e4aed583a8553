import Cipher
import PluginKit

/// The `ios` block of one app.
struct APNsConfiguration: Sendable {
    private static let keys: [StaticString] = [
        "topic", "team_id", "key_id", "key_file", "key", "certificate_file", "certificate_key_file",
        "certificate_password_file", "environment", "sandbox", "port", "try_other_environment", "broadcast_key_file",
        "broadcast_management",
    ]

    /// The app's bundle id: `apns-topic`.
    let topic: String
    let authentication: Authentication
    /// Apple's production servers when the block does not say.
    let origins: Origins
    /// Where broadcast channels are managed.
    let managementOrigins: PerEnvironment<String>
    /// Whether a token that is unknown at one environment is tried at the other.
    let triesOtherEnvironment: Bool
    /// What registrations of broadcast channels have to know; nil: there may be none.
    let broadcastKey: BroadcastKey?
    /// What an operator should know, though all is well so far.
    let warnings: [String]

    /// Throws for the first mistake: which key it is under, and what was expected. `now` is in milliseconds since 1970.
    init(_ block: JSONObject, now: Int64) throws(PluginError) {
        try block.refuseMembers(except: APNsConfiguration.keys)
        topic = try APNsConfiguration.topic(block)
        authentication = try APNsConfiguration.authentication(block)
        if case .certificate(let identity) = authentication {
            warnings = try APNsConfiguration.check(identity.certificate, topic: topic, now: now)
        } else {
            warnings = []
        }
        origins = try APNsConfiguration.origins(block)
        managementOrigins = try APNsConfiguration.managementOrigins(block)
        triesOtherEnvironment = try APNsConfiguration.triesOtherEnvironment(block)
        broadcastKey = try APNsConfiguration.broadcastKey(block)
    }

    static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }

    private static func topic(_ block: JSONObject) throws(PluginError) -> String {
        let expected = "the app's bundle id, such as com.example.app"
        let topic = try block.requiredText("topic", expected: expected)
        let isBundleID =
            (1...255).contains(topic.utf8.count)
            && topic.utf8.allSatisfy { isLetterOrDigit($0) || $0 == 45 || $0 == 46 }
        guard isBundleID else { throw PluginError("topic: expected \(expected)") }
        return topic
    }

    private static func triesOtherEnvironment(_ block: JSONObject) throws(PluginError) -> Bool {
        guard let value = block["try_other_environment"], !value.isNull else { return false }
        guard let flag = value.bool else {
            throw PluginError("try_other_environment: expected true or false, found \(value.kind)")
        }
        return flag
    }

    private static func broadcastKey(_ block: JSONObject) throws(PluginError) -> BroadcastKey? {
        let expected = "the path of a file with the key that registrations of broadcast channels must name"
        guard let path = try block.text("broadcast_key_file", expected: expected) else { return nil }
        guard let key = BroadcastKey(fileContent: try ConfigurationFile.read(path, key: "broadcast_key_file")) else {
            throw PluginError("broadcast_key_file: expected a file with \(BroadcastKey.description) in it")
        }
        return key
    }
}
