import Core
import PluginKit

/// The configuration block of one app.
struct MQTTConfiguration: Sendable {
    private enum Security: String, CaseIterable {
        case tls
        case none
    }

    let broker: MQTTBroker
    let target: StreamTarget
    /// The prefix of all topics: ends in `/`, or is empty.
    let topicPrefix: String
    let isRetained: Bool

    /// Throws for the first error, with its key and the expected value.
    init(_ block: JSONObject) throws(PluginError) {
        try block.refuseMembers(
            except: [
                "server", "port", "security", "authority_file", "version", "client_id", "username", "password",
                "password_file", "keep_alive_seconds", "topic_prefix", "qos", "retain",
            ]
        )
        broker = try MQTTBroker(block)
        target = try MQTTConfiguration.target(block, keepAliveSeconds: broker.keepAliveSeconds)
        let expected = "a topic such as carillon, without + and #"
        let prefix = try block.text("topic_prefix", expected: expected) ?? "carillon"
        guard prefix.isEmpty || TopicName.isPlain(prefix) else {
            throw PluginError("topic_prefix: expected \(expected), found another text")
        }
        topicPrefix = prefix.isEmpty ? "" : "\(prefix)/"
        isRetained = try block.flag("retain") ?? false
    }

    private static func target(_ block: JSONObject, keepAliveSeconds: UInt16) throws(PluginError) -> StreamTarget {
        let expected = "the broker's name, such as mqtt.example.com"
        let host = try block.requiredText("server", expected: expected)
        // The syntax of a URL's host is strict enough.
        guard let url = HTTPURL("http://\(host.contains(":") ? "[\(host)]" : host)"), url.target.isEmpty,
            host.contains(":") || !url.origin.dropFirst(7).contains(":")
        else { throw PluginError("server: expected \(expected), found another text") }
        let security = try block.choice("security", Security.self) ?? .tls
        let port = try block.integer("port", in: 1...65_535) ?? (security == .tls ? 8883 : 1883)
        var target = StreamTarget(host: host, port: UInt16(clamping: port))
        target.usesTLS = security == .tls
        target.connectTimeout = .seconds(20)
        // Pings are sent twice in each keep-alive interval.
        target.idleTimeout = .seconds(min(3600, 2 * Int64(keepAliveSeconds) + 30))
        if let file = try block.file("authority_file", expected: "the path of a certificate in PEM") {
            target.authorities = try file.text()
        }
        return target
    }
}

/// The operator's broker, and the client options that we use there.
struct MQTTBroker: Sendable {
    let version: MQTTVersion
    /// The client id. Empty: the broker assigns one.
    private(set) var clientID: String
    let username: String?
    let password: String?
    let keepAliveSeconds: UInt16
    /// The quality of service. 0: at most once. 1: at least once.
    let quality: Int64

    fileprivate init(_ block: JSONObject) throws(PluginError) {
        version = try MQTTBroker.version(block)
        clientID = try MQTTBroker.text(block, "client_id", expected: "a client id of at most 256 bytes") ?? ""
        username = try MQTTBroker.text(block, "username", expected: "the account at the broker")
        password = try MQTTBroker.checked(
            block.secret("password", file: "password_file", expected: "the account's password"),
            "password",
            expected: "the account's password"
        )
        guard password == nil || username != nil else {
            throw PluginError("password: expected username too")
        }
        keepAliveSeconds = UInt16(clamping: try block.integer("keep_alive_seconds", in: 10...1200) ?? 60)
        quality = try block.integer("qos", in: 0...1) ?? 1
    }

    /// The same account with another client id, because a broker disconnects a client whose id is used again.
    var passing: MQTTBroker {
        var broker = self
        if !clientID.isEmpty { broker.clientID = "\(clientID)-check" }
        return broker
    }

    /// Reads the version. A 5 in YAML is a number in JSON.
    private static func version(_ block: JSONObject) throws(PluginError) -> MQTTVersion {
        if let number = block["version"]?.integer, number == 5 { return .v5 }
        return try block.choice("version", MQTTVersion.self) ?? .v5
    }

    private static func text(
        _ block: JSONObject,
        _ key: StaticString,
        expected: String
    ) throws(PluginError) -> String? {
        try checked(block.text(key, expected: expected), key, expected: expected)
    }

    private static func checked(_ text: String?, _ key: StaticString, expected: String) throws(PluginError) -> String? {
        guard let text else { return nil }
        guard (1...256).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw PluginError("\(key): expected \(expected), found another text")
        }
        return text
    }
}

/// Checks names of single topics.
enum TopicName {
    /// The maximum length in bytes.
    static let limit = 1024

    /// Whether all levels are non-empty, there are no wildcards, and it is not one of the broker's own topics.
    static func isPlain(_ text: String) -> Bool {
        guard (1...limit).contains(text.utf8.count), !text.hasPrefix("$") else { return false }
        return text.split(separator: "/", omittingEmptySubsequences: false).allSatisfy { level in
            !level.isEmpty && level.unicodeScalars.allSatisfy { isReadable($0) }
        }
    }

    private static func isReadable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: scalar != "+" && scalar != "#"
        }
    }
}
