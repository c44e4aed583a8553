import HTTPLanes
import WebIngress
import YAMLReading

/// Reads the block on the sealed ingress.
extension ConfigurationReader {
    /// Every payload has to hold it.
    private static let longestLocKey = 256

    func sealedIngress(_ value: YAMLValue, apps: [String: Configuration.App]) -> Configuration.SealedIngress {
        var ingress = Configuration.SealedIngress()
        guard let mapping = value.mapping(keys: ["listen", "app", "loc_key", "trusted_proxies", "limits"]) else {
            return ingress
        }
        if let (host, port) = mapping["listen"].flatMap({ listenAddress($0, example: "127.0.0.1:7449 or [::1]:7449") })
        {
            ingress.web.host = host
            ingress.web.port = port
        }
        ingress.app = mapping["app"]?.string() ?? ingress.app
        if apps[ingress.app]?.platforms["ios"] == nil {
            (mapping["app"] ?? value).mistake(
                "expected the name of an app with an ios block; '\(ingress.app)' has none"
            )
        }
        if let key = mapping["loc_key"], let text = key.string() {
            if !(1...Self.longestLocKey).contains(text.utf8.count) {
                key.mistake("expected a key of the app's Localizable.strings, of at most \(Self.longestLocKey) bytes")
            }
            ingress.web.locKey = text
        }
        ingress.trustedProxies = proxies(mapping["trusted_proxies"])
        if let limits = mapping["limits"] { read(limits, into: &ingress) }
        return ingress
    }

    private func read(_ value: YAMLValue, into ingress: inout Configuration.SealedIngress) {
        let keys = [
            "devices", "connections", "connections_per_client", "per_client_per_second", "client_burst",
            "client_bytes_per_second", "per_device_per_minute", "device_burst", "waiting",
        ]
        guard let mapping = value.mapping(keys: keys) else { return }
        func set(_ key: String, _ limit: inout Int, within range: ClosedRange<Int>) {
            limit = mapping[key]?.integer(in: range) ?? limit
        }
        set("devices", &ingress.devices, within: 1...100_000_000)
        set("connections", &ingress.web.limits.connections, within: 1...1_000_000)
        set("connections_per_client", &ingress.web.limits.connectionsPerAddress, within: 1...1_000_000)
        set("per_client_per_second", &ingress.web.limits.perClientPerSecond, within: 1...1_000_000)
        set("client_burst", &ingress.web.limits.clientBurst, within: 1...1_000_000)
        set("client_bytes_per_second", &ingress.web.limits.bytesPerClientPerSecond, within: 1_024...1_073_741_824)
        set("per_device_per_minute", &ingress.web.limits.perDevicePerMinute, within: 1...1_000_000)
        set("device_burst", &ingress.web.limits.deviceBurst, within: 1...1_000_000)
        set("waiting", &ingress.web.limits.waiting, within: 1...1_000_000)
    }
}
