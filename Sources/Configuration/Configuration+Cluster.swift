import Cipher
import Foundation
import Storage

extension Configuration {
    /// Whether the router is a member of a cluster.
    package var hasMembership: Bool { cluster != nil }

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

        package static let standardPrefix = "carillon"
        package static let partitionRange = 1...256
        package static let replicaChoices = [1, 3, 5]
        package static let snapshotRange = 10...10_000_000
        /// 1 MiB to 1 TiB.
        package static let capacityRange = 1 << 20...1 << 40

        package var servers: [NATSServer] = []
        /// The name of this member.
        package var name: MemberName
        package var prefix: MemberName
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
        package var place: (line: Int, column: Int)

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

    package let rawValue: String

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

extension Configuration {
    /// Keys whose values may differ between members.
    private static let ownKeys: Set<String> = [
        "store.path", "relay.listen", "relay.url", "relay.trusted_proxies", "api.listen", "api.public_url",
        "api.trusted_proxies", "sealed_ingress.listen", "sealed_ingress.trusted_proxies", "plugins.folders",
        "cluster.name", "cluster.nats", "cluster.monitoring",
    ]

    /// A hash of the configuration file, equal on all members whose files differ only in names, addresses, folders,
    /// comments and the order of keys; nil: there is no file.
    package var fingerprintInCluster: String? {
        guard let file, let cluster, let text = try? String(contentsOfFile: file, encoding: .utf8) else { return nil }
        return Self.fingerprint(of: text, member: cluster.name.rawValue)
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

/// Reads the block `cluster`.
extension ConfigurationReader {
    private typealias Cluster = Configuration.Cluster

    func cluster(_ value: YAMLValue) -> Configuration.Cluster? {
        guard
            let mapping = value.mapping(keys: [
                "nats", "name", "prefix", "partitions", "replicas", "credentials", "tls", "monitoring",
                "accept_loss_on_power_cut", "max_bytes", "snapshot_after",
            ])
        else { return nil }
        let nats = mapping.require("nats", "the servers, such as [nats://10.0.0.1:4222, nats://10.0.0.2:4222]")
        let nameValue = mapping.require("name", "the name of this member, unique in the cluster")
        let name = nameValue.flatMap(memberName)
        var prefix = MemberName(Cluster.standardPrefix)
        if let value = mapping["prefix"] { prefix = memberName(value) }
        // Reads all keys before it rejects the block, so that all errors are reported together.
        let servers = nats.map(servers) ?? []
        let credentials = mapping["credentials"].flatMap(credentials) ?? .none
        let tls = mapping["tls"].flatMap(tls)
        let partitions = mapping["partitions"]?.integer(in: Cluster.partitionRange)
        let replicas = mapping["replicas"].flatMap(replicas)
        let monitoring = (mapping["monitoring"]?.oneOrMore() ?? []).compactMap(monitoring)
        let acceptsLoss = mapping["accept_loss_on_power_cut"]?.bool()
        let capacity = mapping["max_bytes"].flatMap(capacity)
        let snapshotAfter = mapping["snapshot_after"]?.integer(in: Cluster.snapshotRange)
        guard let name, let prefix else { return nil }
        var cluster = Cluster(name: name, prefix: prefix, place: value.place)
        cluster.servers = servers
        cluster.partitions = partitions ?? cluster.partitions
        cluster.replicas = replicas ?? cluster.replicas
        cluster.credentials = credentials
        cluster.tls = tls
        cluster.monitoring = monitoring
        cluster.acceptsLossOnPowerCut = acceptsLoss ?? false
        cluster.capacity = capacity ?? cluster.capacity
        cluster.snapshotAfter = snapshotAfter ?? cluster.snapshotAfter
        return cluster
    }

    private func capacity(_ value: YAMLValue) -> Cluster.Capacity? {
        guard let mapping = value.mapping(keys: ["log", "snapshots", "registry", "requests"]) else { return nil }
        var capacity = Cluster.Capacity()
        let range = Cluster.capacityRange
        capacity.log = mapping["log"]?.integer(in: range) ?? capacity.log
        capacity.snapshots = mapping["snapshots"]?.integer(in: range) ?? capacity.snapshots
        capacity.registry = mapping["registry"]?.integer(in: range) ?? capacity.registry
        capacity.requests = mapping["requests"]?.integer(in: range) ?? capacity.requests
        return capacity
    }

    private func replicas(_ value: YAMLValue) -> Int? {
        guard let number = value.integer(in: 1...5) else { return nil }
        if !Cluster.replicaChoices.contains(number) { value.mistake("expected 1, 3 or 5, so that there is a majority") }
        return number
    }

    private func monitoring(_ value: YAMLValue) -> String? {
        guard let text = value.string() else { return nil }
        guard ["http://", "https://"].contains(where: { text.hasPrefix($0) && text.count > $0.count }) else {
            value.mistake("expected the URL of a server's monitoring, such as http://10.0.0.1:8222")
            return nil
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    private func memberName(_ value: YAMLValue) -> MemberName? {
        guard let text = value.string() else { return nil }
        guard let name = MemberName(text) else {
            value.mistake("expected \(MemberName.form)")
            return nil
        }
        return name
    }

    private func servers(_ value: YAMLValue) -> [NATSServer] {
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

    private func credentials(_ value: YAMLValue) -> Configuration.Cluster.Credentials? {
        guard
            let mapping = value.mapping(keys: ["creds_file", "nkey_file", "token_file", "user", "password_file"])
        else { return nil }
        let file = mapping["creds_file"]?.string().map { Cluster.Credentials.file(path($0)) }
        let key = mapping["nkey_file"]?.string().map { Cluster.Credentials.key(seedFile: path($0)) }
        let token = mapping["token_file"]?.string().map { Cluster.Credentials.token(file: path($0)) }
        var password: Cluster.Credentials?
        switch (mapping["user"], mapping["password_file"]) {
        case (nil, nil): break
        case (let user?, let file?):
            if let user = user.string(), let file = file.string() {
                password = .password(user: user, file: path(file))
            }
        case (let user?, nil): user.mistake("user requires password_file")
        case (nil, let file?): file.mistake("password_file requires user")
        }
        let found = [file, key, token, password].compactMap(\.self)
        if found.count > 1 {
            value.mistake("expected one of creds_file, nkey_file, token_file, and user with password_file")
        }
        if found.isEmpty, mapping["user"] == nil, mapping["password_file"] == nil {
            value.mistake("expected creds_file, nkey_file, token_file, or user and password_file")
        }
        return found.first
    }

    private func tls(_ value: YAMLValue) -> Configuration.Cluster.TLS? {
        guard let mapping = value.mapping(keys: ["ca_file", "certificate_file", "key_file", "first"]) else {
            return nil
        }
        var tls = Configuration.Cluster.TLS()
        tls.caFile = mapping["ca_file"]?.string().map(path)
        tls.certificateFile = mapping["certificate_file"]?.string().map(path)
        tls.keyFile = mapping["key_file"]?.string().map(path)
        tls.isFirst = mapping["first"]?.bool() ?? false
        if (tls.certificateFile == nil) != (tls.keyFile == nil) {
            value.mistake("certificate_file and key_file are required together")
        }
        return tls
    }
}
