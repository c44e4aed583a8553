import Console
import JSON
import Storage

extension Configuration {
    /// The HTTP server for operators, their tools and monitoring.
    package struct API: Sendable {
        /// The file with the token, created on the first run if it is missing.
        package var tokenFile: String
        /// The position of its name in the file; 0 if no file was read.
        package var place = (line: 0, column: 0)
        /// The listen address and the limits for one client.
        package var console = ConsoleConfiguration()
        /// The proxies that may report a client's address, for plugins reachable from outside.
        package var trustedProxies = TrustedProxies() {
            didSet {
                console.isTrustedProxy = trustedProxies.contains
                console.inbound?.isTrustedProxy = trustedProxies.contains
            }
        }
        /// Single sign-on by a proxy; nil: off.
        package var signOn: SignOn?
        /// The maximum number of concurrent readers of the event stream. The connection limit grows by this number.
        package var streamReaders = defaultStreamReaders {
            didSet { console.limits.connections += streamReaders - oldValue }
        }

        package static let defaultStreamReaders = 20

        package init(tokenFile: String) {
            self.tokenFile = tokenFile
            console.isTrustedProxy = trustedProxies.contains
            console.limits.connections += streamReaders
        }
    }

    /// Single sign-on for the API by a proxy that authenticates people.
    package struct SignOn: Sendable, Equatable {
        /// The header in which the proxy sends their name, in lower case.
        package var header: String
        /// The scopes of each person, by name; `*` stands for all others.
        package var scopes: [String: Set<APIScope>]
    }
}

// MARK: The keys of the file

extension Configuration.API {
    static var block: Block<Self> {
        Block("The HTTP API for operators, their tools and monitoring: health, metrics, devices, reload.") {
            Key.listen(\.console.host, \.console.port)
            Key.file("token_file", \.tokenFile).required("the file with the API's token, created on the first start")
                .about("The file with the token for full access; created on the first start.")
            Key.flag("open_metrics", \.console.openMetrics).about("Whether metrics need no token. Default: false.")
            Key("public_url", SchemaParts.text("^https?://[^?#]+$")) { value, api, _ in
                guard let url = publicURL(value) else { return false }
                var inbound = InboundConfiguration(publicURL: url)
                inbound.isTrustedProxy = api.trustedProxies.contains
                api.console.inbound = inbound
                return true
            }
            .about(
                "The public URL of the API's /plugins/, for plugins that accept requests, and of its /v1/me, which signed requests name. Default: none."
            )
            Key.trustedProxies(\.trustedProxies)
                .about(
                    "Networks of proxies whose X-Forwarded-For is believed there, as CIDR blocks. Default: this machine."
                )
            Key.block(
                "sign_on",
                \.signOn,
                from: Configuration.SignOn(header: "", scopes: [:]),
                Configuration.SignOn.block
            )
            Key.integer("stream_readers", \.streamReaders, 0...10_000)
                .about("The maximum number of concurrent readers of /v1/stream. 0 disables it. Default: {default}.")
        } check: { mapping, api, _ in
            api.place = mapping["token_file"]?.place ?? mapping.value.place
            if let block = mapping["sign_on"], mapping["trusted_proxies"] == nil {
                // Without it every program on this machine could claim to be anyone.
                block.mistake("expected trusted_proxies too, with the addresses of the proxy")
            }
        }
    }

    /// Reads a URL, and removes `/` at its end.
    private static func publicURL(_ value: YAMLValue) -> String? {
        let text = value.text(expected: "the public URL of the API, such as https://push.example.com") { text in
            ["https://", "http://"].contains { text.hasPrefix($0) && text.count > $0.count }
                && text.utf8.allSatisfy {
                    (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#")
                }
        }
        return text.map { $0.hasSuffix("/") ? String($0.dropLast()) : $0 }
    }
}

extension Configuration.SignOn {
    fileprivate static var block: Block<Self> {
        Block("Single sign-on by a proxy in trusted_proxies, which authenticates people.") {
            Key("header", \.header, SchemaParts.text()) { value, _ in header(value) }
                .required("the header in which the proxy sends the user's name")
                .about("The header in which the proxy sends the user's name, such as X-Forwarded-User.")
            Key(
                "users",
                [
                    "type": "object",
                    "additionalProperties": SchemaParts.oneOrMore.about("One scope or a list of them."),
                ]
            ) { value, signOn, _ in
                for (name, list) in value.mapping()?.members ?? [] {
                    signOn.scopes[name] = Set(list.oneOrMore().compactMap(scope))
                }
                return true
            }
            .required("the scopes of each user")
            .about("The scopes of users by name: read, operate, send. * stands for all others.")
        }
    }

    private static func header(_ value: YAMLValue) -> String? {
        let header = value.string()?.lowercased() ?? ""
        if header.isEmpty || !header.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }) {
            value.mistake("expected the name of a header, such as X-Forwarded-User")
        }
        if ["authorization", "host", "cookie"].contains(header) {
            value.mistake("expected a header that clients do not use, such as X-Forwarded-User")
        }
        return header
    }

    private static func scope(_ item: YAMLValue) -> APIScope? {
        guard let text = item.string() else { return nil }
        let scope = APIScope(rawValue: text)
        if scope == nil { item.mistake("expected \(APIScope.allCases.map(\.rawValue).joined(separator: ", "))") }
        return scope
    }
}
