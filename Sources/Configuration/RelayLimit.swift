import Core
import Registry
import RelayServer
import Storage

/// A limit of the relay socket: its key in the file, its description, and the setting it changes.
struct RelayLimit: Sendable {
    let key: String
    let about: String
    let range: ClosedRange<Int>
    private let apply: @Sendable (inout Configuration.Relay, Int) -> Void
    private let read: @Sendable (Configuration.Relay) -> Int

    /// The default value.
    var standard: Int { read(Configuration.Relay()) }

    private init(
        _ key: String,
        _ path: any WritableKeyPath<Configuration.Relay, Int> & Sendable,
        _ about: String,
        _ range: ClosedRange<Int> = 1...1_000_000
    ) {
        self.key = key
        self.about = about
        self.range = range
        read = { $0[keyPath: path] }
        apply = { $0[keyPath: path] = $1 }
    }

    /// Makes a limit on a size.
    private init(
        _ key: String,
        _ path: any WritableKeyPath<Configuration.Relay, ByteCount> & Sendable,
        _ about: String,
        _ range: ClosedRange<Int> = 1...1_000_000
    ) {
        self.key = key
        self.about = about
        self.range = range
        read = { $0[keyPath: path].bytes }
        apply = { $0[keyPath: path] = ByteCount($1) }
    }

    /// Makes a limit that is stored as a fraction but written as an integer.
    private init(
        _ key: String,
        _ path: any WritableKeyPath<Configuration.Relay, Double> & Sendable,
        _ about: String,
        _ range: ClosedRange<Int> = 1...1_000_000
    ) {
        self.key = key
        self.about = about
        self.range = range
        read = { Int($0[keyPath: path]) }
        apply = { $0[keyPath: path] = Double($1) }
    }

    static let all = ofConnections + ofClients + ofRegistrations

    /// Returns the limits that the block names.
    static func all(in value: YAMLValue?) -> [Setting] {
        guard let mapping = value?.mapping(keys: all.map(\.key)) else { return [] }
        return all.compactMap { limit in
            mapping[limit.key]?.integer(in: limit.range).map { Setting(limit: limit, number: $0) }
        }
    }

    /// A limit and its number.
    struct Setting {
        fileprivate let limit: RelayLimit
        fileprivate let number: Int

        func set(_ relay: inout Configuration.Relay) { limit.apply(&relay, number) }
    }

    private static let ofConnections: [RelayLimit] = [
        RelayLimit("connections", \.limits.connections, "Connections at the same time."),
        RelayLimit("message_bytes", \.limits.messageBytes, "The longest message, in bytes.", 32_768...4_194_304),
        RelayLimit("subscriptions", \.limits.subscriptions, "Open subscriptions of one connection.", 1...1_000),
        RelayLimit(
            "per_connection_per_second",
            \.limits.messagesPerSecond,
            "Messages of one connection per second, on average."
        ),
        RelayLimit("connection_burst", \.limits.burst, "Messages of one connection in a burst."),
    ]

    private static let ofClients: [RelayLimit] = [
        RelayLimit(
            "connections_per_client",
            \.limits.connectionsPerClient,
            "Connections of one client at the same time."
        ),
        RelayLimit(
            "openings_per_client_per_minute",
            \.limits.openingsPerClientPerMinute,
            "Connections that one client may open per minute."
        ),
        RelayLimit(
            "per_client_per_second",
            \.limits.messagesPerClientPerSecond,
            "Messages of one client per second, on average."
        ),
        RelayLimit("client_burst", \.limits.clientBurst, "Messages of one client in a burst."),
        RelayLimit(
            "client_bytes_per_second",
            \.limits.bytesPerClientPerSecond,
            "Bytes of one client's messages per second, on average; bursts may have eight times as many.",
            1_024...1_073_741_824
        ),
        RelayLimit(
            "registrations_per_client_per_second",
            \.limits.registrationsPerSecond,
            "Registrations of one client per second, on average."
        ),
        RelayLimit(
            "client_registration_burst",
            \.limits.registrationBurst,
            "Registrations of one client in a burst."
        ),
    ]

    private static let ofRegistrations: [RelayLimit] = [
        RelayLimit(
            "registrations_per_key_per_hour",
            \.registrations.registrationsPerKeyPerHour,
            "Registrations signed by one key per hour, on average."
        ),
        RelayLimit(
            "registration_burst",
            \.registrations.registrationBurst,
            "Registrations signed by one key in a burst."
        ),
        RelayLimit("devices_per_account", \.registrations.devicesPerAccount, "Devices of one account.", 1...10_000),
        RelayLimit(
            "devices",
            \.registrations.devices,
            "Devices in total; those that never got a push are removed first.",
            1...1_000_000_000
        ),
        RelayLimit(
            "waiting_registrations",
            \.registrations.waiting,
            "Registrations that wait for a root identity to name their key."
        ),
    ]
}
