import Core
import Delivery
import Foundation
import HTTPClient
import Listeners
import Observability
import Registry
import RelayServer
import Relays
import Storage
import WebIngress

/// Reads the blocks on sources of events and registrations. An omitted block is `nil`.
extension ConfigurationReader {
    /// Reads the block `relays`. `ownURL` is our own socket, which must not be among them.
    func relays(_ value: YAMLValue?, ownURL: String) -> Configuration.Relays {
        var relays = Configuration.Relays()
        guard let mapping = value?.mapping(keys: ["always", "per_user", "nip46", "publish", "catch_up_hours"]) else {
            return relays
        }
        let own = RelayURL(ownURL)
        relays.always = mapping["always"].map { urls($0, except: own) } ?? []
        relays.nip46 = mapping["nip46"].map { urls($0, except: own) } ?? relays.always
        relays.publish = mapping["publish"].map { urls($0, except: own) } ?? relays.always
        relays.perUser = mapping["per_user"].flatMap(choice) ?? relays.perUser
        relays.catchUp =
            mapping["catch_up_hours"]?.integer(of: .hours, in: 1...720).map { .hours($0) } ?? relays.catchUp
        return relays
    }

    /// Returns each URL once, in the order of the file.
    private func urls(_ value: YAMLValue, except own: RelayURL?) -> [RelayURL] {
        var urls: [RelayURL] = []
        for value in value.oneOrMore() {
            guard let text = value.string() else { continue }
            guard let url = RelayURL(text) else {
                value.mistake("expected a relay's URL, as in wss://relay.example.com")
                continue
            }
            if url == own {
                value.mistake("this is the router's own relay socket (relay.url); remove it")
            } else if !urls.contains(url) {
                urls.append(url)
            }
        }
        return urls
    }

    /// Reads one word, or a mapping with more settings.
    func hints(_ value: YAMLValue?) -> Configuration.Hints {
        var hints = Configuration.Hints()
        guard let value else { return hints }
        guard value.isMapping else {
            hints.policy = choice(value) ?? hints.policy
            return hints
        }
        guard let mapping = value.mapping(keys: ["mode", "silent_minutes"]) else { return hints }
        hints.policy = mapping["mode"].flatMap(choice) ?? hints.policy
        hints.silentAfter =
            mapping["silent_minutes"]?.integer(of: .minutes, in: 1...10_080).map { .minutes($0) } ?? hints.silentAfter
        return hints
    }

    func registration(_ value: YAMLValue?) -> Configuration.Registration {
        var registration = Configuration.Registration()
        guard let mapping = value?.mapping(keys: ["require_session", "secret_file"]) else { return registration }
        registration.requireSession = mapping["require_session"]?.bool() ?? false
        registration.secretFile = mapping["secret_file"]?.string().map(path)
        registration.secretFilePlace = mapping["secret_file"]?.place ?? (0, 0)
        return registration
    }

    func context(_ value: YAMLValue?) -> Configuration.Context {
        var context = Configuration.Context()
        guard let value else { return context }
        guard value.isMapping else {
            context.isOn = value.string() != "off"
            if context.isOn { value.mistake("expected off, or a mapping with wait_milliseconds, path") }
            return context
        }
        guard let mapping = value.mapping(keys: ["wait_milliseconds", "path"]) else { return context }
        if let wait = mapping["wait_milliseconds"]?.integer(of: .milliseconds, in: 0...10_000) {
            context.wait = .milliseconds(wait)
        }
        context.path = mapping["path"]?.string().map(path)
        context.place = mapping["path"]?.place ?? (0, 0)
        return context
    }

    /// Reads the limits for stored results of events, or `off`.
    func trace(_ value: YAMLValue?) -> TraceLimits? {
        var limits = TraceLimits()
        guard let value else { return limits }
        guard value.isMapping else {
            if value.string() == "off" { return nil }
            value.mistake("expected off, or a mapping with rows, days, keep_events_hours")
            return limits
        }
        guard let mapping = value.mapping(keys: ["rows", "days", "keep_events_hours"]) else { return limits }
        if let hours = mapping["keep_events_hours"]?.integer(of: .hours, in: TraceLimits.keptEventsRange), hours > 0 {
            limits.keptEvents = .hours(hours)
        }
        limits.rows = mapping["rows"]?.integer(in: TraceLimits.rowRange) ?? limits.rows
        limits.days = mapping["days"]?.integer(of: .days, in: TraceLimits.dayRange) ?? limits.days
        return limits
    }

    /// Reads the maximum number and age of dead letters; 0 for either: none are kept.
    func deadLetters(_ value: YAMLValue) -> DeadLetterLimits {
        var limits = DeadLetterLimits()
        guard let mapping = value.mapping(keys: ["days", "rows"]) else { return limits }
        limits.days = mapping["days"]?.integer(of: .days, in: DeadLetterLimits.dayRange) ?? limits.days
        limits.rows = mapping["rows"]?.integer(in: DeadLetterLimits.rowRange) ?? limits.rows
        return limits
    }

    private func choice<Choice: CaseIterable & RawRepresentable<String>>(_ value: YAMLValue) -> Choice? {
        value.choice(Choice.allCases.map(\.rawValue)).flatMap(Choice.init)
    }
}

/// Reads the block `relay`.
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

    /// Reads networks of proxies. Default: this machine.
    func proxies(_ value: YAMLValue?) -> TrustedProxies {
        guard let value else { return TrustedProxies() }
        let networks = value.oneOrMore().compactMap { block -> AddressBlock? in
            guard let text = block.string() else { return nil }
            guard let network = AddressBlock(text) else {
                block.mistake(
                    "expected a proxy's address or network, as in 10.1.2.0/24, with no bits set after the prefix"
                )
                return nil
            }
            return network
        }
        return TrustedProxies(networks)
    }
}

/// Reads the block `subscribe`.
extension ConfigurationReader {
    /// The placeholders in a client's URL, which the page replaces.
    private static let placeholders = ["{nevent}", "{note}", "{npub}", "{id}"]

    func subscribePage(_ value: YAMLValue, apps: [String: Configuration.App]) -> SubscribePage? {
        guard let mapping = value.mapping(keys: ["app", "topic_server", "client"]) else { return nil }
        var page = SubscribePage(app: mapping["app"]?.string() ?? Configuration.App.defaultName)
        if apps[page.app]?.platforms.isEmpty ?? true {
            (mapping["app"] ?? value).mistake(
                "expected the name of an app with a platform's block; '\(page.app)' has none"
            )
        }
        page.topicServer =
            mapping["topic_server"].flatMap { webAddress($0, "an ntfy server, as in https://ntfy.sh") }
            ?? page.topicServer
        page.client = mapping["client"].flatMap { client in
            let expected =
                "a client's URL with {nevent}, {note}, {npub} or {id}, such as https://app.example.com/{nevent}"
            let text = webAddress(client, expected)
            if let text, !Self.placeholders.contains(where: text.contains) { client.mistake("expected \(expected)") }
            return text
        }
        return page
    }

    private func webAddress(_ value: YAMLValue, _ expected: String) -> String? {
        guard let text = value.string() else { return nil }
        let rest = ["https://", "http://"].first(where: text.hasPrefix).map { text.dropFirst($0.count) }
        guard let rest, let first = rest.first, first != "/", !rest.contains(where: \.isWhitespace) else {
            value.mistake("expected \(expected)")
            return nil
        }
        return text
    }
}

/// Reads the block `sealed_ingress`.
extension ConfigurationReader {
    /// The maximum length, because every payload contains the text.
    private static let longestLocKey = 256

    func sealedIngress(_ value: YAMLValue, apps: [String: Configuration.App]) -> Configuration.SealedIngress {
        var ingress = Configuration.SealedIngress()
        guard let mapping = value.mapping(keys: ["listen", "app", "platform", "loc_key", "trusted_proxies", "limits"])
        else {
            return ingress
        }
        if let (host, port) = mapping["listen"].flatMap({ listenAddress($0, example: "127.0.0.1:7449 or [::1]:7449") })
        {
            ingress.web.host = host
            ingress.web.port = port
        }
        ingress.app = mapping["app"]?.string() ?? ingress.app
        ingress.platform = mapping["platform"]?.string()
        let named = mapping["app"] ?? mapping["platform"] ?? value
        ingress.place = named.place
        let blocks = apps[ingress.app]?.platforms ?? [:]
        if let platform = ingress.platform, blocks[platform] == nil {
            named.mistake("expected the name of an app with a block for \(platform); '\(ingress.app)' has none")
        } else if blocks.isEmpty {
            named.mistake("expected the name of an app with a platform's block; '\(ingress.app)' has none")
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
