import Console
import Core
import Foundation
import HTTPClient
import Observability
import Push
import Storage
import WebIngress

/// Parses a configuration file; collects every error with its line.
struct ConfigurationReader {
    /// The folder that relative paths in the file start from.
    let folder: String
    private let file: YAMLFile
    /// The plugin folders if the file names none.
    let pluginFolders: [String]
    /// Whether blocks of apps may lack values of environment variables.
    let isWithoutCredentials: Bool

    init(
        name: String,
        folder: String,
        isWithoutCredentials: Bool = false,
        pluginFolders: [String] = [],
        environment: @escaping (String) -> String?
    ) {
        self.pluginFolders = pluginFolders
        self.folder = folder
        self.isWithoutCredentials = isWithoutCredentials
        self.file = YAMLFile(name: name, environment: environment)
    }

    func read(_ text: String) throws(Diagnostics) -> Configuration {
        let configuration = file.parse(text)?
            .mapping(keys: [
                "identity", "store", "relay", "relays", "hints", "registration", "context", "trace", "tracing", "rules",
                "plugins", "dead_letters",
                "http", "defaults", "bounds", "filter_plugins", "apps", "sealed_ingress", "api", "shutdown_seconds",
                "access", "log", "subscribe", "cluster", "operational_events",
            ])
            .flatMap(configuration)
        try file.throwMistakes()
        guard let configuration else { throw Diagnostics([Diagnostic(file: file.name, message: "expected a mapping")]) }
        return configuration
    }

    /// Returns as much of a configuration as can be read despite errors; nil: the text is not a mapping.
    func readLeniently(_ text: String) -> Configuration? { file.parse(text)?.mapping().flatMap(configuration) }

    private func configuration(_ top: YAMLMapping) -> Configuration? {
        let keyFile = top.require("identity", "the router's key, such as { key_file: carillon.key }")?
            .mapping(keys: ["key_file"])?.require("key_file", "the file with the router's secret key")?.string()
        let storeBlock = top.require(
            "store",
            "the database of registrations and deliveries, such as { path: carillon.sqlite }"
        )?
        .mapping(keys: ["path", "max_waiting"])
        let store = storeBlock?.require("path", "the database file")?.string()
        var configuration = Configuration(keyFile: path(keyFile ?? ""), storePath: path(store ?? ""))
        configuration.keyFilePlace = top["identity"]?.place ?? (0, 0)
        configuration.storePlace = top["store"]?.place ?? (0, 0)
        configuration.maxWaiting =
            storeBlock?["max_waiting"]?.integer(in: Configuration.maxWaitingRange) ?? configuration.maxWaiting
        if let relay = top["relay"] { configuration.relay = self.relay(relay) }
        configuration.relays = relays(top["relays"], ownURL: configuration.relay.url)
        configuration.hints = hints(top["hints"])
        configuration.registration = registration(top["registration"])
        configuration.access = access(top["access"], invitationsNeed: configuration.registration.secretFile)
        configuration.log = log(top["log"])
        configuration.context = context(top["context"])
        configuration.trace = trace(top["trace"])
        if let deadLetters = top["dead_letters"] { configuration.deadLetters = self.deadLetters(deadLetters) }
        configuration.tracing = top["tracing"].flatMap(tracing)
        configuration.tracingPlace = top["tracing"]?.place ?? (0, 0)
        configuration.rulesFiles = top["rules"].map(rulesFiles) ?? []
        configuration.plugins = top["plugins"].map(plugins) ?? Configuration.Plugins(folders: pluginFolders)
        if let http = top["http"] { configuration.http = self.http(http) }
        configuration.apps = apps(top["apps"])
        let (mode, policy, places) = pacing(defaults: top["defaults"], bounds: top["bounds"])
        configuration.pacingPlaces = places
        configuration.defaultMode = mode ?? configuration.defaultMode
        configuration.pacing = policy
        configuration.filters = top["filter_plugins"].map(filters) ?? []
        configuration.sealedIngress = top["sealed_ingress"].map { sealedIngress($0, apps: configuration.apps) }
        configuration.subscribePage = top["subscribe"].flatMap { subscribePage($0, apps: configuration.apps) }
        configuration.api = top["api"].map(api)
        configuration.operationalEvents = top["operational_events"].flatMap(operationalEvents)
        configuration.cluster = top["cluster"].flatMap(cluster)
        configuration.shutdownTime =
            top["shutdown_seconds"]?.integer(of: .seconds, in: 1...3_600).map { .seconds($0) }
            ?? configuration.shutdownTime
        checkListeners(configuration, top)
        return keyFile == nil || store == nil ? nil : configuration
    }

    /// Reports listeners with the same port: at startup the second would find it in use.
    private func checkListeners(_ configuration: Configuration, _ top: YAMLMapping) {
        var taken = [("relay", configuration.relay.host, configuration.relay.port)]
        let others = [
            ("sealed_ingress", configuration.sealedIngress.map { ($0.web.host, $0.web.port) }),
            ("api", configuration.api.map { ($0.console.host, $0.console.port) }),
        ]
        for (name, address) in others {
            guard let (host, port) = address, port != 0 else { continue }
            for (other, otherHost, otherPort) in taken
            where otherPort == port && (otherHost == host || !Self.anyAddress.isDisjoint(with: [host, otherHost])) {
                top[name]?.mistake("listens on port \(port), which \(other) uses too; expected another port")
            }
            taken.append((name, host, port))
        }
    }

    private static let anyAddress: Set = ["0.0.0.0", "::"]

    /// Reads one path, or a list of them.
    private func rulesFiles(_ value: YAMLValue) -> [String] {
        let values = value.oneOrMore()
        if values.isEmpty { value.mistake("expected a rules file, or a list of them") }
        return values.reduce(into: []) { files, value in
            guard let file = value.string().map(path) else { return }
            if files.contains(file) { value.mistake("\(file) is named twice") }
            files.append(file)
        }
    }

    private func apps(_ value: YAMLValue?) -> [String: Configuration.App] {
        var apps: [String: Configuration.App] = [:]
        for (name, value) in value?.mapping()?.members ?? [] {
            var app = Configuration.App()
            for (platform, block) in value.mapping()?.members ?? [] {
                if platform == "rules" {
                    app.rulesFiles = rulesFiles(block)
                    continue
                }
                guard block.mapping() != nil else { continue }
                var unset: [Diagnostic] = []
                var fromEnvironment: [String] = []
                let text =
                    isWithoutCredentials
                    ? block.json(unset: { unset.append($0) }, fromEnvironment: { fromEnvironment.append($0) })
                    : block.json()
                guard let json = text else { continue }
                app.platforms[platform] = Configuration.PlatformBlock(
                    json: json,
                    folder: folder,
                    line: block.line,
                    unset: unset,
                    fromEnvironment: fromEnvironment
                )
            }
            apps[name] = app
        }
        return apps
    }

    /// Resolves `name` from this file's folder, unless it is absolute.
    func path(_ name: String) -> String {
        name.hasPrefix("/") || folder.isEmpty ? name : folder + "/" + name
    }

    /// Reads an address and a port, as in `example`.
    func listenAddress(_ value: YAMLValue, example: String) -> (host: String, port: Int)? {
        guard let text = value.string() else { return nil }
        if let address = Self.hostAndPort(text) { return address }
        value.mistake("expected an address and a port, as in \(example)")
        return nil
    }

    private static func hostAndPort(_ text: String) -> (String, Int)? {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (0...65535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), port)
    }
}

extension Configuration {
    /// Reads the configuration file at `path`. Relative paths in it start from its own folder.
    ///
    /// `withoutCredentials` is for commands that run without the service's environment. Variables in the blocks of apps
    /// may then be missing, which only prevents the use of that block (``PlatformBlock/unset``).
    ///
    /// Throws all errors together, each with its line and the expected value.
    package init(
        file path: String,
        withoutCredentials: Bool = false,
        environment: @escaping (String) -> String? = { ProcessInfo.processInfo.environment[$0] }
    ) throws(Diagnostics) {
        let text = try Self.text(of: path, what: "the configuration")
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        self = try ConfigurationReader(
            name: path,
            folder: folder,
            isWithoutCredentials: withoutCredentials,
            pluginFolders: Self.pluginFoldersOfProgram,
            environment: environment
        ).read(text)
        file = path
    }

    /// Reads a configuration with errors, for commands that only query the running router: as much of it as can be
    /// read, or only its `store.path`. Returns nil if even that fails.
    package init?(toAskRouterOf path: String) {
        guard let text = try? Self.text(of: path, what: "the configuration") else { return nil }
        // These commands need no key.
        let store = text.firstMatch(of: Self.storePath).map {
            "identity: { key_file: carillon.key }\nstore: { path: \($0.output.path) }"
        }
        let found = [text, store].lazy.compactMap { text in
            text.flatMap { text in
                ConfigurationReader(
                    name: path,
                    folder: URL(fileURLWithPath: path).deletingLastPathComponent().path,
                    isWithoutCredentials: true,
                    pluginFolders: Self.pluginFoldersOfProgram,
                    environment: { ProcessInfo.processInfo.environment[$0] }
                ).readLeniently(text)
            }
        }.first
        guard let found else { return nil }
        self = found
    }

    /// Finds the store's path if the rest of the text is not YAML.
    private static var storePath: Regex<(Substring, path: Substring)> {
        /\bstore["']?\s*:(?s:.{0,400}?)\bpath["']?\s*:\s*(?<path>"[^"\n]+"|'[^'\n]+'|[^\s,}#]+)/
    }

    /// Returns the text of a file that a person wrote. Throws an error if it cannot be read.
    static func text(of path: String, what: String) throws(Diagnostics) -> String {
        guard let data = FileManager.default.contents(atPath: path) else {
            throw Diagnostics([
                Diagnostic(
                    file: path,
                    message: "cannot read \(what): check that the file exists and that this user may read it"
                )
            ])
        }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw Diagnostics([Diagnostic(file: path, message: "\(what) must be UTF-8 text")])
        }
        return text
    }
}

extension ConfigurationReader {
    func http(_ value: YAMLValue) -> Configuration.HTTP {
        var http = Configuration.HTTP()
        guard let mapping = value.mapping(keys: ["ca_file", "allow_private", "proxy"]) else { return http }
        if let caFile = mapping["ca_file"], let name = caFile.string().map(path) {
            http.caFile = name
            http.caFileFingerprint = FileFingerprint(of: name)
            if let flaw = RootCertificates.flaw(ofFile: name) { caFile.mistake(flaw) }
        }
        for block in mapping["allow_private"]?.oneOrMore() ?? [] {
            guard let text = block.string() else { continue }
            if AddressBlock(text) == nil {
                block.mistake("expected a network, as in 10.1.2.0/24 or fd00::/8, with no bits set after the prefix")
            }
            http.allowPrivate.append(text)
        }
        if let proxy = mapping["proxy"], let url = proxy.string() {
            http.proxy = url
            // Omits the value, which may contain a password.
            if Proxy(url) == nil { proxy.mistake("expected a proxy, as in \(Proxy.form)") }
        }
        return http
    }
}

/// Reads the block `tracing`.
extension ConfigurationReader {
    func tracing(_ value: YAMLValue) -> TracingSettings? {
        guard let mapping = value.mapping(keys: ["otlp", "sample", "headers_file", "service"]),
            let otlp = mapping.require("otlp", "a collector's URL, as in http://127.0.0.1:4318"),
            let url = otlp.string()
        else { return nil }
        guard var settings = TracingSettings(url: url) else {
            otlp.mistake("expected a collector's URL, as in http://127.0.0.1:4318")
            return nil
        }
        if let sample = mapping["sample"], let text = sample.string() {
            if let part = Double(text), (0...1).contains(part) {
                settings.sample = part
            } else {
                sample.mistake("expected the fraction of events to trace, from 0 to 1, such as 0.01")
            }
        }
        if let service = mapping["service"]?.string(), !service.isEmpty { settings.service = service }
        if let file = mapping["headers_file"], let path = file.string().map(path) {
            settings.headersFile = path
            do throws(CollectorHeadersError) {
                if !isWithoutCredentials { _ = try settings.headers() }
            } catch {
                file.mistake(error.description)
            }
        }
        return settings
    }
}

/// Reads the block `api`.
extension ConfigurationReader {
    func api(_ value: YAMLValue) -> Configuration.API {
        guard
            let mapping = value.mapping(
                keys: [
                    "listen", "token_file", "open_metrics", "public_url", "trusted_proxies", "sign_on",
                    "stream_readers",
                ]
            )
        else {
            return Configuration.API(tokenFile: "")
        }
        let file = mapping.require("token_file", "the file with the API's token, created on the first start")
        var api = Configuration.API(tokenFile: file?.string().map(path) ?? "")
        api.place = file?.place ?? value.place
        if let (host, port) = mapping["listen"].flatMap({ listenAddress($0, example: "127.0.0.1:7448 or [::1]:7448") })
        {
            api.console.host = host
            api.console.port = port
        }
        api.console.openMetrics = mapping["open_metrics"]?.bool() ?? false
        api.console.inbound = mapping["public_url"].flatMap(publicURL).map(InboundConfiguration.init)
        api.trustedProxies = proxies(mapping["trusted_proxies"])
        api.signOn = mapping["sign_on"].flatMap(signOn)
        if let readers = mapping["stream_readers"]?.integer(in: 0...10_000) { api.streamReaders = readers }
        if let block = mapping["sign_on"], mapping["trusted_proxies"] == nil {
            // Without it every program on this machine could claim to be anyone.
            block.mistake("expected trusted_proxies too, with the addresses of the proxy")
        }
        return api
    }

    private func signOn(_ value: YAMLValue) -> Configuration.SignOn? {
        guard let mapping = value.mapping(keys: ["header", "users"]) else { return nil }
        let field = mapping.require("header", "the header in which the proxy sends the user's name")
        let header = field?.string()?.lowercased() ?? ""
        if let field, header.isEmpty || !header.utf8.allSatisfy({ (0x61...0x7A).contains($0) || $0 == 0x2D }) {
            field.mistake("expected the name of a header, such as X-Forwarded-User")
        }
        if ["authorization", "host", "cookie"].contains(header) {
            field?.mistake("expected a header that clients do not use, such as X-Forwarded-User")
        }
        var scopes: [String: Set<APIScope>] = [:]
        for (name, list) in mapping.require("users", "the scopes of each user")?.mapping()?.members ?? [] {
            scopes[name] = Set(
                list.oneOrMore().compactMap { item in
                    guard let text = item.string() else { return nil }
                    if let scope = APIScope(rawValue: text) { return scope }
                    item.mistake("expected \(APIScope.allCases.map(\.rawValue).joined(separator: ", "))")
                    return nil
                }
            )
        }
        return Configuration.SignOn(header: header, scopes: scopes)
    }

    /// Reads a URL, and removes `/` at its end.
    private func publicURL(_ value: YAMLValue) -> String? {
        guard let text = value.string() else { return nil }
        let isURL =
            ["https://", "http://"].contains { text.hasPrefix($0) && text.count > $0.count }
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        guard isURL else {
            value.mistake("expected the public URL of the API, such as https://push.example.com")
            return nil
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }
}
