import Listeners
import Push
import Storage
import WebIngress

extension Configuration {
    /// `POST /push/:device_token/:id` for Web Push senders (contrib/docs/web-push-ingress.md).
    package struct SealedIngress: Sendable {
        /// The app whose configuration block is used.
        package var app = "default"
        /// The platform of the devices; nil: the only one that supports the ingress.
        package var platform: String?
        /// The position of the platform or app in the configuration, for errors that only the loaded plugins find; 0 if
        /// no file was read.
        package var place = (line: 0, column: 0)
        /// The proxies that may report a client's address.
        package var trustedProxies = TrustedProxies() {
            didSet { web.isTrustedProxy = trustedProxies.contains }
        }
        /// The maximum number of stored devices.
        package var devices = 1_000_000
        /// The listen address and the limits for one client.
        package var web = WebIngressConfiguration()

        /// The address at which it listens.
        package var listen: String { "\(web.host):\(web.port)" }

        package init() {
            web.isTrustedProxy = trustedProxies.contains
        }
    }
}

extension Configuration.SealedIngress {
    /// Returns the platform that it serves.
    ///
    /// Throws an error if no loaded plugin supports it, if several do and none is named, and if the app has no block
    /// for it.
    package func platform(
        in configuration: Configuration,
        _ platforms: PlatformCatalog
    ) throws(Diagnostics) -> String {
        guard let platform = platform ?? platforms.onlyIngressPlatform, platforms[platform]?.ingress != nil
        else {
            let offering = platforms.platforms.filter { platforms[$0]?.ingress != nil }
            let choice =
                offering.isEmpty ? "no loaded plugin supports it" : "one of \(offering.joined(separator: ", "))"
            throw mistake(
                configuration,
                "platform: expected a platform whose plugin supports the sealed ingress; \(choice)"
            )
        }
        guard configuration.apps[app]?.platforms[platform] != nil else {
            throw mistake(
                configuration,
                "app: expected the name of an app with a block for \(platform); '\(app)' has none"
            )
        }
        return platform
    }

    private func mistake(_ configuration: Configuration, _ message: String) -> Diagnostics {
        Diagnostics([
            Diagnostic(
                file: configuration.file ?? "environment",
                line: place.line,
                column: place.column,
                message: "sealed_ingress.\(message)"
            )
        ])
    }
}

// MARK: The keys of the file

extension Configuration {
    /// Needs `apps`.
    static var sealedIngressKey: Key<Configuration> {
        .block("sealed_ingress", \.sealedIngress, from: SealedIngress(), SealedIngress.block) { value, configuration in
            guard let ingress = configuration.sealedIngress, let mapping = value.mapping() else { return }
            let named = mapping["app"] ?? mapping["platform"] ?? value
            configuration.sealedIngress?.place = named.place
            let blocks = configuration.apps[ingress.app]?.platforms ?? [:]
            if let platform = ingress.platform, blocks[platform] == nil {
                named.mistake("expected the name of an app with a block for \(platform); '\(ingress.app)' has none")
            } else if blocks.isEmpty {
                named.mistake("expected the name of an app with a platform's block; '\(ingress.app)' has none")
            }
        }
    }

    /// Needs `apps`.
    static var subscribeKey: Key<Configuration> {
        .block("subscribe", \.subscribePage, from: SubscribePage(app: App.defaultName), subscribeBlock) {
            value,
            configuration in
            let app = configuration.subscribePage?.app ?? App.defaultName
            if configuration.apps[app]?.platforms.isEmpty ?? true {
                (value.mapping()?["app"] ?? value).mistake(
                    "expected the name of an app with a platform's block; '\(app)' has none"
                )
            }
        }
    }

    private static var subscribeBlock: Block<SubscribePage> {
        Block("The page /subscribe at the relay socket's address, where people without an app register. Default: none.")
        {
            Key.text("app", \.app).about("The app that people register for. Default: default.")
            Key.text(
                "topic_server",
                \.topicServer,
                pattern: "^https?://[^/]",
                expected: "an ntfy server, as in https://ntfy.sh",
                where: isWebAddress
            )
            .about("The ntfy server that the page suggests for topics. Default: https://ntfy.sh.")
            Key.text(
                "client",
                \.client,
                pattern: "^https?://[^/].*\\{(nevent|note|npub|id)\\}",
                expected:
                    "a client's URL with {nevent}, {note}, {npub} or {id}, such as https://app.example.com/{nevent}"
            ) { isWebAddress($0) && placeholders.contains(where: $0.contains) }
            .about(
                "The default target of a tap, with {nevent}, {note}, {npub} or {id}. Default: the notification's URL."
            )
        }
    }

    /// The placeholders in a client's URL, which the page replaces.
    private static let placeholders = ["{nevent}", "{note}", "{npub}", "{id}"]

    private static func isWebAddress(_ text: String) -> Bool {
        let rest = ["https://", "http://"].first(where: text.hasPrefix).map { text.dropFirst($0.count) }
        guard let rest, let first = rest.first else { return false }
        return first != "/" && !rest.contains(where: \.isWhitespace)
    }
}

extension Configuration.SealedIngress {
    fileprivate static var block: Block<Self> {
        Block("Accepts push messages of Web Push senders for an app: POST /push/<device token>/<account>.") {
            Key.listen(\.web.host, \.web.port)
            Key.text("app", \.app).about("The app whose block is used. Default: default.")
            Key.text("platform", \.platform)
                .about("The platform of the app's devices. Default: the only one that supports it.")
            Key.text(
                "loc_key",
                \.web.locKey,
                expected: "a key of the app's Localizable.strings, of at most \(longestLocKey) bytes"
            ) { (1...longestLocKey).contains($0.utf8.count) }
            .about("The text if the app cannot decrypt: a key of its Localizable.strings.")
            Key.trustedProxies(\.trustedProxies)
                .about("Networks of proxies whose X-Forwarded-For is believed, as CIDR blocks. Default: this machine.")
            Key.block("limits", limits)
        }
    }

    /// The maximum length, because every payload contains the text.
    private static let longestLocKey = 256

    private static var limits: Block<Self> {
        let many = 1...1_000_000
        return Block("Limits for clients and devices.") {
            Key.integer("devices", \.devices, 1...100_000_000).about("Stored devices.")
            Key.integer("connections", \.web.limits.connections, many).about("Connections at the same time.")
            Key.integer("connections_per_client", \.web.limits.connectionsPerAddress, many)
                .about("Connections of one client at the same time.")
            Key.integer("per_client_per_second", \.web.limits.perClientPerSecond, many)
                .about("Requests of one client per second, on average.")
            Key.integer("client_burst", \.web.limits.clientBurst, many).about("Requests of one client in a burst.")
            Key.integer("client_bytes_per_second", \.web.limits.bytesPerClientPerSecond, 1_024...1_073_741_824)
                .about("Bytes of one client's messages per second, on average; bursts may have eight times as many.")
            Key.integer("per_device_per_minute", \.web.limits.perDevicePerMinute, many)
                .about("Messages for one device per minute, on average.")
            Key.integer("device_burst", \.web.limits.deviceBurst, many).about("Messages for one device in a burst.")
            Key.integer("waiting", \.web.limits.waiting, many).about("Messages that wait to be written to disk.")
        }
    }
}
