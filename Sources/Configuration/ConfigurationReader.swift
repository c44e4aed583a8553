import Notifications
import YAMLReading

/// Reads a configuration file's text; notes every mistake with its line.
struct ConfigurationReader {
    /// The folder that relative paths in the file start from.
    let folder: String
    private let file: YAMLFile
    /// Whether blocks of apps may lack what environment variables would say.
    private let isWithoutCredentials: Bool

    init(
        name: String,
        folder: String,
        isWithoutCredentials: Bool = false,
        environment: @escaping (String) -> String?
    ) {
        self.folder = folder
        self.isWithoutCredentials = isWithoutCredentials
        self.file = YAMLFile(name: name, environment: environment)
    }

    func read(_ text: String) throws(Diagnostics) -> Configuration {
        let configuration = file.parse(text)?
            .mapping(keys: [
                "identity", "store", "relay", "relays", "hints", "registration", "context", "trace", "rules", "plugins",
                "http", "defaults", "bounds", "filters", "apps", "sealed_ingress", "api", "shutdown_seconds",
            ])
            .flatMap(configuration)
        try file.throwMistakes()
        guard let configuration else { throw Diagnostics([Diagnostic(file: file.name, message: "expected a mapping")]) }
        return configuration
    }

    private func configuration(_ top: YAMLMapping) -> Configuration? {
        let keyFile = top.require("identity", "where our key is, as in { key_file: carillon.key }")?
            .mapping(keys: ["key_file"])?.require("key_file", "the file with our secret key")?.string()
        let storeBlock = top.require(
            "store",
            "where registrations and deliveries are kept, as in { path: carillon.sqlite }"
        )?
        .mapping(keys: ["path", "max_waiting"])
        let store = storeBlock?.require("path", "the database file")?.string()
        var configuration = Configuration(keyFile: path(keyFile ?? ""), storePath: path(store ?? ""))
        configuration.keyFilePlace = top["identity"]?.place ?? (0, 0)
        configuration.storePlace = top["store"]?.place ?? (0, 0)
        configuration.mostWaiting =
            storeBlock?["max_waiting"]?.integer(in: Configuration.mostWaitingRange) ?? configuration.mostWaiting
        if let relay = top["relay"] { configuration.relay = self.relay(relay) }
        configuration.relays = relays(top["relays"], ownURL: configuration.relay.url)
        configuration.hints = hints(top["hints"])
        configuration.registration = registration(top["registration"])
        configuration.context = context(top["context"])
        configuration.trace = trace(top["trace"])
        configuration.rulesFiles = top["rules"].map(rulesFiles) ?? []
        if let plugins = top["plugins"] { configuration.plugins = self.plugins(plugins) }
        if let http = top["http"] { configuration.http = self.http(http) }
        configuration.apps = apps(top["apps"])
        let platforms = configuration.apps.values.flatMap(\.platforms.keys)
        let (mode, policy) = pacing(defaults: top["defaults"], bounds: top["bounds"], platforms: Set(platforms))
        configuration.defaultMode = mode ?? configuration.defaultMode
        configuration.pacing = policy
        configuration.filters = top["filters"].map(filters) ?? []
        configuration.sealedIngress = top["sealed_ingress"].map { sealedIngress($0, apps: configuration.apps) }
        configuration.api = top["api"].map(api)
        configuration.shutdownSeconds =
            top["shutdown_seconds"]?.integer(in: 1...3_600) ?? configuration.shutdownSeconds
        return keyFile == nil || store == nil ? nil : configuration
    }

    /// One path, or a list of them.
    private func rulesFiles(_ value: YAMLValue) -> [String] {
        let values = value.oneOrMore()
        if values.isEmpty { value.mistake("expected a rules file, or a list of them") }
        return values.reduce(into: []) { files, value in
            guard let file = value.string().map(path) else { return }
            if files.contains(file) { value.mistake("\(file) is named twice") }
            files.append(file)
        }
    }

    private func plugins(_ value: YAMLValue) -> Configuration.Plugins {
        var plugins = Configuration.Plugins()
        guard let mapping = value.mapping(keys: ["folders", "sha256"]) else { return plugins }
        plugins.folders = mapping["folders"]?.oneOrMore().compactMap { $0.string() }.map(path) ?? []
        for (name, pin) in mapping["sha256"]?.mapping()?.members ?? [] {
            guard let digits = pin.string()?.lowercased() else { continue }
            if digits.utf8.count != 64 || !digits.allSatisfy(\.isHexDigit) {
                pin.mistake("expected 64 hex digits, as sha256sum prints them")
            }
            plugins.pins[name] = digits
        }
        return plugins
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
                let text = isWithoutCredentials ? block.json { unset.append($0) } : block.json()
                guard let json = text else { continue }
                app.platforms[platform] = Configuration.PlatformBlock(
                    json: PathsInBlock.resolve(json, path),
                    line: block.line,
                    unset: unset
                )
            }
            apps[name] = app
        }
        return apps
    }

    /// `name` from this file's folder on, unless it is absolute.
    func path(_ name: String) -> String {
        name.hasPrefix("/") || folder.isEmpty ? name : folder + "/" + name
    }

    /// An address and a port, as in `example`.
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
