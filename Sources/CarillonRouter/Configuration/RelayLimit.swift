import Registry
import RelayServer
import YAMLReading

/// A limit of our own relay socket: its key in the file, what it says, and where its number goes.
struct RelayLimit: Sendable {
    let key: String
    let about: String
    let range: ClosedRange<Int>
    private let apply: @Sendable (inout Configuration.Relay, Int) -> Void
    private let read: @Sendable (Configuration.Relay) -> Int

    /// The number when the file says nothing.
    var standard: Int { read(Configuration.Relay()) }

    private init(
        _ key: String,
        _ about: String,
        _ range: ClosedRange<Int> = 1...1_000_000,
        _ read: @escaping @Sendable (Configuration.Relay) -> Int,
        _ apply: @escaping @Sendable (inout Configuration.Relay, Int) -> Void
    ) {
        self.key = key
        self.about = about
        self.range = range
        self.read = read
        self.apply = apply
    }

    static let all = ofConnections + ofClients + ofRegistrations

    /// What the block names, each to be set.
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

    private static let ofConnections = [
        RelayLimit("connections", "Connections at the same time.") {
            $0.limits.connections
        } _: {
            $0.limits.connections = $1
        },
        RelayLimit("message_bytes", "The longest message, in bytes.", 32_768...4_194_304) {
            $0.limits.messageBytes
        } _: {
            $0.limits.messageBytes = $1
        },
        RelayLimit("subscriptions", "Open subscriptions of one connection.", 1...1_000) {
            $0.limits.subscriptions
        } _: {
            $0.limits.subscriptions = $1
        },
        RelayLimit("per_connection_per_second", "Messages of one connection a second, over time.") {
            Int($0.limits.messagesPerSecond)
        } _: {
            $0.limits.messagesPerSecond = Double($1)
        },
        RelayLimit("connection_burst", "Messages of one connection at once.") {
            Int($0.limits.burst)
        } _: {
            $0.limits.burst = Double($1)
        },
    ]

    private static let ofClients = [
        RelayLimit("connections_per_client", "Connections of one client at the same time.") {
            $0.limits.connectionsPerClient
        } _: {
            $0.limits.connectionsPerClient = $1
        },
        RelayLimit("openings_per_client_per_minute", "Connections that one client may open a minute.") {
            $0.limits.openingsPerClientPerMinute
        } _: {
            $0.limits.openingsPerClientPerMinute = $1
        },
        RelayLimit("per_client_per_second", "Messages of one client a second, over time.") {
            $0.limits.messagesPerClientPerSecond
        } _: {
            $0.limits.messagesPerClientPerSecond = $1
        },
        RelayLimit("client_burst", "Messages of one client at once.") {
            $0.limits.clientBurst
        } _: {
            $0.limits.clientBurst = $1
        },
        RelayLimit(
            "client_bytes_per_second",
            "Bytes of one client's messages a second, over time; eight times as many at once.",
            1_024...1_073_741_824
        ) {
            $0.limits.bytesPerClientPerSecond
        } _: {
            $0.limits.bytesPerClientPerSecond = $1
        },
    ]

    private static let ofRegistrations = [
        RelayLimit("registrations_per_key_per_hour", "Registrations signed by one key an hour, over time.") {
            $0.registrations.registrationsPerKeyPerHour
        } _: {
            $0.registrations.registrationsPerKeyPerHour = $1
        },
        RelayLimit("registration_burst", "Registrations signed by one key at once.") {
            $0.registrations.registrationBurst
        } _: {
            $0.registrations.registrationBurst = $1
        },
        RelayLimit("devices_per_account", "Devices of one account.", 1...10_000) {
            $0.registrations.devicesPerAccount
        } _: {
            $0.registrations.devicesPerAccount = $1
        },
        RelayLimit("devices", "Devices altogether.", 1...1_000_000_000) {
            $0.registrations.devices
        } _: {
            $0.registrations.devices = $1
        },
        RelayLimit("waiting_registrations", "Registrations that wait for a root identity to name their key.") {
            $0.registrations.waiting
        } _: {
            $0.registrations.waiting = $1
        },
    ]
}
