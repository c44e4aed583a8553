import Core
import HTTPClient
import Registry
import RelayServer
import Storage

extension Configuration {
    /// Our own relay socket.
    package struct Relay: Sendable, Equatable {
        package var host = "127.0.0.1"
        package var port = 7447
        /// The URL for clients; empty: `ws://` and the listen address.
        package var url = ""
        /// Our name in the NIP-11 document and the advertisement.
        package var name = "Carillon"
        package var description = "A notification relay: register a device, be woken."
        package var contact: String?
        /// A URL.
        package var termsOfService: String?
        /// The proxies that may report a client's address.
        package var trustedProxies = TrustedProxies()
        /// The limits for one client.
        package var limits = RelayServerConfiguration.Limits()
        /// The limits on registrations.
        package var registrations = RegistrationPolicy.Limits()

        /// The URL for clients; empty with port 0, before the system has chosen a port.
        package var ownURL: String { url.isEmpty && port == 0 ? "" : clientURL(port: port) }

        /// Returns the URL for clients if the socket listens at `port`.
        package func clientURL(port: Int) -> String {
            url.isEmpty ? "ws://\(host.contains(":") ? "[\(host)]" : host):\(port)" : url
        }
    }
}

/// The networks of proxies that may report a client's address (`X-Forwarded-For`).
package struct TrustedProxies: Sendable, Equatable {
    /// This machine, where the reverse proxy usually is. A local program without the header keeps its own address.
    private static let thisMachine = ["127.0.0.0/8", "::1"].compactMap(AddressBlock.init)

    private let networks: [AddressBlock]

    /// Makes a list of networks. Default: only this machine.
    package init(_ networks: [AddressBlock]? = nil) {
        self.networks = networks ?? Self.thisMachine
    }

    /// Whether `address` belongs to a proxy.
    package func contains(_ address: String) -> Bool {
        guard let address = IPAddress(address) else { return false }
        return networks.contains { $0.contains(address) }
    }
}

extension Configuration.Relay {
    static var block: Block<Self> {
        Block("The router's own relay socket.") {
            Key.listen(\.host, \.port)
            Key.text("url", \.url, pattern: "^wss?://", expected: "a URL that starts with wss:// or ws://") {
                $0.hasPrefix("ws://") || $0.hasPrefix("wss://")
            }
            .about("The URL for clients, wss://… or ws://….")
            Key.text("name", \.name).about("The router's name in the NIP-11 document and the advertisement.")
            Key.text("description", \.description).about("The description there.")
            Key.text("contact", \.contact).about("The contact there, such as mailto:ops@example.com.")
            Key.text(
                "terms_of_service",
                \.termsOfService,
                pattern: "^https?://",
                expected: "a URL that starts with https:// or http://"
            ) { $0.hasPrefix("https://") || $0.hasPrefix("http://") }
            .about("The URL of the terms of service there, https://….")
            Key.trustedProxies(\.trustedProxies)
                .about("Networks of proxies whose X-Forwarded-For is believed, as CIDR blocks. Default: this machine.")
            Key.block("limits", limitBlock)
        }
    }

    private static var limitBlock: Block<Self> {
        Block("Limits for one client, and limits in total.") {
            Key.integer("connections", \.limits.connections, 1...1_000_000)
                .about("Connections at the same time. Default: {default}.")
            Key.integer("message_bytes", \.limits.messageBytes, 32_768...4_194_304)
                .about("The longest message, in bytes. Default: {default}.")
            Key.integer("subscriptions", \.limits.subscriptions, 1...1_000)
                .about("Open subscriptions of one connection. Default: {default}.")
            Key.integer("per_connection_per_second", \.limits.messagesPerSecond, 1...1_000_000)
                .about("Messages of one connection per second, on average. Default: {default}.")
            Key.integer("connection_burst", \.limits.burst, 1...1_000_000)
                .about("Messages of one connection in a burst. Default: {default}.")
            Key.integer("connections_per_client", \.limits.connectionsPerClient, 1...1_000_000)
                .about("Connections of one client at the same time. Default: {default}.")
            Key.integer("openings_per_client_per_minute", \.limits.openingsPerClientPerMinute, 1...1_000_000)
                .about("Connections that one client may open per minute. Default: {default}.")
            Key.integer("per_client_per_second", \.limits.messagesPerClientPerSecond, 1...1_000_000)
                .about("Messages of one client per second, on average. Default: {default}.")
            Key.integer("client_burst", \.limits.clientBurst, 1...1_000_000)
                .about("Messages of one client in a burst. Default: {default}.")
            Key.integer("client_bytes_per_second", \.limits.bytesPerClientPerSecond, 1_024...1_073_741_824)
                .about(
                    "Bytes of one client's messages per second, on average; bursts may have eight times as many. Default: {default}."
                )
            Key.integer("registrations_per_client_per_second", \.limits.registrationsPerSecond, 1...1_000_000)
                .about("Registrations of one client per second, on average. Default: {default}.")
            Key.integer("client_registration_burst", \.limits.registrationBurst, 1...1_000_000)
                .about("Registrations of one client in a burst. Default: {default}.")
            Key.integer("registrations_per_key_per_hour", \.registrations.registrationsPerKeyPerHour, 1...1_000_000)
                .about("Registrations signed by one key per hour, on average. Default: {default}.")
            Key.integer("registration_burst", \.registrations.registrationBurst, 1...1_000_000)
                .about("Registrations signed by one key in a burst. Default: {default}.")
            Key.integer("devices_per_account", \.registrations.devicesPerAccount, 1...10_000)
                .about("Devices of one account. Default: {default}.")
            Key.integer("devices", \.registrations.devices, 1...1_000_000_000)
                .about("Devices in total; those that never got a push are removed first. Default: {default}.")
            Key.integer("waiting_registrations", \.registrations.waiting, 1...1_000_000)
                .about("Registrations that wait for a root identity to name their key. Default: {default}.")
        }
    }
}

extension Key {
    /// An address and a port.
    static func listen(_ host: WritableKeyPath<Value, String>, _ port: WritableKeyPath<Value, Int>) -> Key {
        Key(
            "listen",
            schema: { _, _ in SchemaParts.text() },
            standard: { "\($0[keyPath: host]):\($0[keyPath: port])" },
            read: { value, result, _ in
                guard let text = value.string() else { return false }
                guard let address = hostAndPort(text) else {
                    let port = result[keyPath: port]
                    value.mistake(
                        "expected an address and a port, as in \(result[keyPath: host]):\(port) or [::1]:\(port)"
                    )
                    return false
                }
                result[keyPath: host] = address.host
                result[keyPath: port] = address.port
                return true
            }
        )
        .about("An address and a port. Default: {default}.")
    }

    private static func hostAndPort(_ text: String) -> (host: String, port: Int)? {
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

    /// Networks of proxies that may report a client's address.
    static func trustedProxies(_ path: WritableKeyPath<Value, TrustedProxies>) -> Key {
        Key("trusted_proxies", path, SchemaParts.oneOrMore) { value, _ in
            TrustedProxies(
                value.oneOrMore().compactMap { block in
                    guard let text = block.string() else { return nil }
                    let network = AddressBlock(text)
                    if network == nil {
                        block.mistake(
                            "expected a proxy's address or network, as in 10.1.2.0/24, with no bits set after the prefix"
                        )
                    }
                    return network
                }
            )
        }
    }
}
