import HTTPLanes
import Registry
import RelayServer
import YAMLReading

/// Reads the block on our own relay socket.
extension ConfigurationReader {
    func relay(_ value: YAMLValue) -> Configuration.Relay {
        var relay = Configuration.Relay()
        let keys = ["listen", "url", "name", "description", "contact", "terms_of_service", "trusted_proxies", "limits"]
        guard let mapping = value.mapping(keys: keys) else { return relay }
        if let (host, port) = mapping["listen"].flatMap({ listenAddress($0, example: "127.0.0.1:7447 or [::1]:7447") })
        {
            relay.host = host
            relay.port = port
        }
        if let value = mapping["url"], let url = value.string() {
            if !url.hasPrefix("ws://") && !url.hasPrefix("wss://") {
                value.mistake("expected a URL that starts with wss:// or ws://")
            }
            relay.url = url
        }
        relay.name = mapping["name"]?.string() ?? relay.name
        relay.description = mapping["description"]?.string() ?? relay.description
        relay.contact = mapping["contact"]?.string()
        if let value = mapping["terms_of_service"], let url = value.string() {
            if !url.hasPrefix("https://") && !url.hasPrefix("http://") {
                value.mistake("expected a URL that starts with https:// or http://")
            }
            relay.termsOfService = url
        }
        relay.trustedProxies = proxies(mapping["trusted_proxies"])
        for limit in RelayLimit.all(in: mapping["limits"]) { limit.set(&relay) }
        return relay
    }

    /// Networks of proxies; this machine where nothing is said.
    func proxies(_ value: YAMLValue?) -> TrustedProxies {
        guard let value else { return TrustedProxies() }
        let networks = value.oneOrMore().compactMap { block -> AddressBlock? in
            guard let text = block.string() else { return nil }
            guard let network = AddressBlock(text) else {
                block.mistake(
                    "expected a proxy's address or network, as in 10.1.2.0/24, with no bits set behind the prefix"
                )
                return nil
            }
            return network
        }
        return TrustedProxies(networks)
    }
}
