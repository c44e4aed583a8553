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
    /// What all topics begin with: ends in `/`, or is empty.
    let topicPrefix: String
    let isRetained: Bool

    /// Throws for the first error: under which key it is, and what was expected.
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
        // The syntax of a URL's host is as strict as it has to be.
        guard let url = HTTPURL("http://\(host.contains(":") ? "[\(host)]" : host)"), url.target.isEmpty,
            host.contains(":") || !url.origin.dropFirst(7).contains(":")
        else { throw PluginError("server: expected \(expected), found another text") }
        let security = try block.choice("security", Security.self) ?? .tls
        let port = try block.integer("port", in: 1...65_535) ?? (security == .tls ? 8883 : 1883)
        var target = StreamTarget(host: host, port: UInt16(clamping: port))
        target.usesTLS = security == .tls
        target.connectTimeout = .seconds(20)
        // Pings come twice in a keep alive.
        target.idleTimeout = .seconds(min(3600, 2 * Int64(keepAliveSeconds) + 30))
        if let file = try block.file("authority_file", expected: "the path of a certificate in PEM") {
            target.authorities = try file.text()
        }
        return target
    }
}

/// How we introduce ourselves to the operator's broker, and what we ask of it.
struct MQTTBroker: Sendable {
    let version: MQTTVersion
    /// Empty: the broker names us.
    private(set) var clientID: String
    let username: String?
    let password: String?
    let keepAliveSeconds: UInt16
    /// 0: at most once. 1: at least once.
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
            throw PluginError("password: expected a username beside it")
        }
        keepAliveSeconds = UInt16(clamping: try block.integer("keep_alive_seconds", in: 10...1200) ?? 60)
        quality = try block.integer("qos", in: 0...1) ?? 1
    }

    /// The same account under another client id: a broker ends the connection of a client whose id comes once more.
    var passing: MQTTBroker {
        var broker = self
        if !clientID.isEmpty { broker.clientID = "\(clientID)-check" }
        return broker
    }

    /// A 5 in YAML is a number in JSON.
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

/// Names of topics that mean one topic each.
enum TopicName {
    /// In bytes.
    static let limit = 1024

    /// Whether it has levels with something in them, no wildcards, and is none of the broker's own topics.
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
