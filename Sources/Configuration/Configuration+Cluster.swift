import Cipher
import Foundation
import Storage

extension Configuration {
    /// The cluster that the router belongs to.
    package struct Cluster: Sendable {
        /// The router's credentials for the servers. Files are read on use.
        package enum Credentials: Sendable, Hashable {
            case none
            /// A credentials file in the format of `nsc`.
            case file(String)
            case key(seedFile: String)
            case token(file: String)
            case password(user: String, file: String)

            /// The file that contains the secret.
            package var file: String? {
                switch self {
                case .none: nil
                case .file(let file), .key(let file), .token(let file), .password(_, let file): file
                }
            }
        }

        package struct TLS: Sendable, Hashable {
            /// Root certificates to use instead of the system's, as PEM.
            package var caFile: String?
            /// The router's client certificate, as PEM; next to it its key.
            package var certificateFile: String?
            package var keyFile: String?
            /// Whether TLS starts before the server's greeting.
            package var isFirst = false
        }

        package static let partitionRange = 1...256

        package var servers: [NATSServer] = []
        /// The name of this member.
        package var name = MemberName.standardPrefix
        package var prefix = MemberName.standardPrefix
        package var partitions = 32
        package var replicas = 3
        package var credentials = Credentials.none
        package var tls: TLS?
        /// The HTTP URLs of the servers' monitoring.
        package var monitoring: [String] = []
        /// Whether the operator accepts that acknowledged data is lost if all servers lose power.
        package var acceptsLossOnPowerCut = false
        /// The maximum size of streams.
        package var capacity = Capacity()
        /// The number of registry changes after which a new snapshot replaces the old one.
        package var snapshotAfter = 10_000
        /// The position of the block in the configuration.
        package var place = (line: 0, column: 0)

        /// The maximum size of streams, in bytes. Servers reserve it when they create a stream.
        package struct Capacity: Hashable, Sendable {
            /// The logs of all partitions. Snapshots keep them short, so usually only a part is used.
            package var log = 1 << 30
            /// The snapshots of partitions and of the registry: twice the size of queues and registrations.
            package var snapshots = 2 << 30
            /// The registry's changes since the last but one snapshot.
            package var registry = 1 << 30
            /// The requests for notifications of one day: about 900 bytes for one with a key. The oldest are evicted
            /// first.
            package var requests = 1 << 30

            package init() {}
        }
    }
}

/// The address of a server: `nats://HOST[:4222]`, `tls://` to require TLS, or no scheme.
package struct NATSServer: Hashable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: Int
    /// Whether TLS is required: without it no data is sent.
    package private(set) var wantsTLS: Bool
    /// Whether TLS starts before the server's greeting (`handshake_first`).
    package var securesFirst = false

    /// Returns nil if it is malformed, or contains credentials, which have their own settings.
    package init?(_ text: String) {
        let address = text.contains("://") ? text : "nats://\(text)"
        guard let parts = URLComponents(string: address), let host = parts.host, !host.isEmpty,
            ["nats", "tls"].contains(parts.scheme), parts.user == nil, parts.password == nil,
            ["", "/"].contains(parts.path), parts.query == nil, (1...65_535).contains(parts.port ?? 4222)
        else { return nil }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        port = parts.port ?? 4222
        wantsTLS = parts.scheme == "tls"
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Takes over the TLS settings of `other`, because all servers of a cluster use the same.
    package mutating func inheritSecurity(of other: NATSServer) {
        wantsTLS = wantsTLS || other.wantsTLS
        securesFirst = other.securesFirst
    }
}

/// The name of a member in the cluster, used in keys and metrics: letters, digits, `-` and `_`.
package struct MemberName: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    package static let form = "1 to 64 letters, digits, - and _"

    /// The prefix of streams, buckets and subjects if none is configured.
    static let standardPrefix = MemberName(known: "carillon")

    package let rawValue: String

    private init(known name: String) { rawValue = name }

    /// Returns nil if `text` has another format.
    package init?(_ text: String) {
        let isName = text.utf8.allSatisfy {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        guard isName, (1...64).contains(text.utf8.count) else { return nil }
        rawValue = text
    }

    package init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let name = MemberName(text) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no member"))
        }
        self = name
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }

    package var description: String { rawValue }

    package static func < (left: MemberName, right: MemberName) -> Bool { left.rawValue < right.rawValue }
}

extension Configuration.Cluster {
    /// Keys whose values may differ between members.
    private static let ownKeys: Set<String> = [
        "store.path", "relay.listen", "relay.url", "relay.trusted_proxies", "api.listen", "api.public_url",
        "api.trusted_proxies", "sealed_ingress.listen", "sealed_ingress.trusted_proxies", "plugins.folders",
        "cluster.name", "cluster.nats", "cluster.monitoring",
    ]

    /// A hash of the configuration file, equal on all members whose files differ only in names, addresses, folders,
    /// comments and the order of keys; nil: the file cannot be read.
    package func fingerprint(ofFile path: String) -> String? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        return Self.fingerprint(of: text, member: name.rawValue)
    }

    static func fingerprint(of text: String, member name: String) -> String? {
        // Values from the environment are not compared.
        let yaml = YAMLFile(name: "") { $0 }
        guard let json = yaml.parse(text)?.json(),
            let object = try? JSONSerialization.jsonObject(with: Data(json.utf8)),
            let common = try? JSONSerialization.data(
                withJSONObject: shared(object, at: "", by: name),
                options: [.sortedKeys, .fragmentsAllowed]
            )
        else { return nil }
        return Hex.encode(Array(SHA256.hash(Array(common)).prefix(8)))
    }

    /// Returns the part of a value that members share: of a file's path only the file's name.
    private static func shared(_ value: Any, at path: String, by name: String) -> Any {
        switch value {
        case let object as [String: Any]:
            var shared: [String: Any] = [:]
            for (key, value) in object {
                let place = path.isEmpty ? key : "\(path).\(key)"
                if !ownKeys.contains(place) { shared[key] = Self.shared(value, at: place, by: name) }
            }
            return shared
        case let list as [Any]: return list.map { shared($0, at: path, by: name) }
        case let text as String:
            let isPath = text.hasPrefix("/") || path.hasSuffix("file") || path.hasSuffix("rules")
            let end = isPath ? text.split(separator: "/").last.map(String.init) ?? text : text
            return end.replacing(name, with: "")
        default: return value
        }
    }
}

// MARK: The keys of the file

extension Configuration.Cluster {
    static var block: Block<Self> {
        Block("Several routers that work as one, over NATS JetStream; see the manual's page on scaling.") {
            Key("nats", \.servers, SchemaParts.oneOrMore) { value, _ in servers(value) }
                .required("the servers, such as [nats://10.0.0.1:4222, nats://10.0.0.2:4222]")
                .about("The servers, nats://HOST:4222, or tls://HOST:4222 to require TLS.")
            memberName("name", \.name)
                .required("the name of this member, unique in the cluster")
                .about("The name of this member, unique in the cluster: \(MemberName.form).")
            memberName("prefix", \.prefix)
                .about("The prefix of streams, buckets and subjects. Default: \(MemberName.standardPrefix).")
            Key.integer("partitions", \.partitions, partitionRange)
                .about("The number of partitions of accounts. It can never change. Default: {default}.")
            Key.integer("replicas", \.replicas, 1...5)
                .about("The number of servers that store each message: 1, 3 or 5. Default: {default}.")
            Key(
                "credentials",
                schema: { CredentialFiles.block.schema(CredentialFiles(), $1) },
                read: { value, cluster, reader in
                    var files = CredentialFiles()
                    guard CredentialFiles.block.read(value, into: &files, reader) else { return false }
                    cluster.credentials = files.all.first ?? .none
                    return true
                }
            )
            Key.block("tls", \.tls, from: TLS(), TLS.block)
            Key.list("monitoring", \.monitoring) { value, _ in
                let url = value.text(
                    expected: "the URL of a server's monitoring, such as http://10.0.0.1:8222",
                    where: { url in
                        ["http://", "https://"].contains { url.hasPrefix($0) && url.count > $0.count }
                    }
                )
                return url.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
            }
            .about(
                "The servers' monitoring URLs, http://HOST:8222, to check whether they flush data before they acknowledge it."
            )
            Key.block("max_bytes", \.capacity, Capacity.block)
            Key.integer("snapshot_after", \.snapshotAfter, 10...10_000_000)
                .about(
                    "The number of registry changes after which a new snapshot replaces the old one. Default: {default}."
                )
            Key.flag("accept_loss_on_power_cut", \.acceptsLossOnPowerCut)
                .about(
                    "Whether to accept servers without sync_interval: always, which may lose acknowledged data if all lose power. Default: false."
                )
        } check: { mapping, cluster, _ in
            cluster.place = mapping.value.place
            if ![1, 3, 5].contains(cluster.replicas) {
                mapping["replicas"]?.mistake("expected 1, 3 or 5, so that there is a majority")
            }
        }
    }

    private static func memberName(_ name: String, _ path: WritableKeyPath<Self, MemberName>) -> Key<Self> {
        Key(name, path, SchemaParts.text()) { value, _ in
            value.text(expected: MemberName.form, where: { MemberName($0) != nil }).flatMap(MemberName.init)
        }
    }

    private static func servers(_ value: YAMLValue) -> [NATSServer] {
        let values = value.oneOrMore()
        if values.isEmpty { value.mistake("expected a server, or a list of them") }
        return values.reduce(into: []) { servers, value in
            guard let text = value.string() else { return }
            guard let server = NATSServer(text) else {
                // Omits the value, which may contain a password.
                return value.mistake(
                    "expected a server, such as nats://10.0.0.1:4222 or tls://nats.example.com, without credentials; "
                        + "put them under cluster.credentials"
                )
            }
            if servers.contains(server) { return value.mistake("\(server) is named twice") }
            servers.append(server)
        }
    }
}

extension Configuration.Cluster.Capacity {
    fileprivate static var block: Block<Self> {
        // 1 MiB to 1 TiB.
        let range = 1 << 20...1 << 40
        return Block("The maximum size of streams, in bytes, which servers reserve.") {
            Key.integer("log", \.log, range).about("The logs of all partitions. Default: {default} (1 GiB).")
            Key.integer("snapshots", \.snapshots, range)
                .about("Snapshots: twice the size of queues and registrations. Default: {default} (2 GiB).")
            Key.integer("registry", \.registry, range)
                .about("The registry's latest changes. Default: {default} (1 GiB).")
            Key.integer("requests", \.requests, range)
                .about(
                    "One day's requests to POST /v1/notify; the oldest are removed first. Default: {default} (1 GiB)."
                )
        }
    }
}

/// The keys of `cluster.credentials`, of which a configuration has one kind.
private struct CredentialFiles {
    private var credentials: String?
    private var seed: String?
    private var token: String?
    private var user: String?
    private var password: String?

    /// The credentials that are configured.
    var all: [Configuration.Cluster.Credentials] {
        let ofUser = user.flatMap { user in
            password.map { Configuration.Cluster.Credentials.password(user: user, file: $0) }
        }
        let ofFiles: [Configuration.Cluster.Credentials?] = [
            credentials.map { .file($0) }, seed.map { .key(seedFile: $0) }, token.map { .token(file: $0) },
        ]
        return (ofFiles + [ofUser]).compactMap(\.self)
    }

    static var block: Block<Self> {
        Block("The router's credentials for the servers: one of these.") {
            Key.file("creds_file", \.credentials).about("A credentials file in the format of nsc.")
            Key.file("nkey_file", \.seed).about("A file with the seed of an nkey.")
            Key.file("token_file", \.token).about("A file with a token.")
            Key.text("user", \.user).about("A user, with password_file.")
            Key.file("password_file", \.password).about("A file with the user's password.")
        } check: { mapping, files, _ in
            switch (mapping["user"], mapping["password_file"]) {
            case (let user?, nil): user.mistake("user requires password_file")
            case (nil, let file?): file.mistake("password_file requires user")
            case (nil, nil) where files.all.isEmpty:
                mapping.value.mistake("expected creds_file, nkey_file, token_file, or user and password_file")
            default: break
            }
            if files.all.count > 1 {
                mapping.value.mistake(
                    "expected one of creds_file, nkey_file, token_file, and user with password_file"
                )
            }
        }
    }
}

extension Configuration.Cluster.TLS {
    fileprivate static var block: Block<Self> {
        Block("The TLS settings for connections to the servers.") {
            Key.file("ca_file", \.caFile).about("Root certificates to use instead of the system's, as PEM.")
            Key.file("certificate_file", \.certificateFile).about("The router's client certificate, as PEM.")
            Key.file("key_file", \.keyFile).about("The key of that certificate, as PEM.")
            Key.flag("first", \.isFirst)
                .about("Whether TLS starts before the server's greeting (handshake_first). Default: false.")
        } check: { mapping, tls, _ in
            if (tls.certificateFile == nil) != (tls.keyFile == nil) {
                mapping.value.mistake("certificate_file and key_file are required together")
            }
        }
    }
}
