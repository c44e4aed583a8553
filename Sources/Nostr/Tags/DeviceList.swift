/// What a kind 10050 says in public: the relays its author receives messages at (NIP-17), and in Gozzip the devices
/// that speak for that root identity and the keys it receives messages under.
package struct DeviceList: Hashable, Sendable {
    /// Public keys of devices, from `device` tags.
    package var devices: [PublicKey]
    /// From `dm_key` tags.
    package var messageKeys: [PublicKey]
    /// From `relay` tags; URLs are as the author wrote them.
    package var relays: [String]
    /// Whether it has any `device` or `dm_key` tag, even one without a value. A list without them was written by an app
    /// that knows of relays only (NIP-17), and says nothing of devices.
    package var speaksOfDevices: Bool

    package init(
        devices: [PublicKey] = [],
        messageKeys: [PublicKey] = [],
        relays: [String] = [],
        speaksOfDevices: Bool = true
    ) {
        self.devices = devices
        self.messageKeys = messageKeys
        self.relays = relays
        self.speaksOfDevices = speaksOfDevices
    }

    /// Reads the tags in their order. What is no key is left out.
    package init(_ event: Event) {
        self.init(
            devices: event.values(of: "device").compactMap { PublicKey(hex: $0) },
            messageKeys: event.values(of: "dm_key").compactMap { PublicKey(hex: $0) },
            relays: event.values(of: "relay"),
            speaksOfDevices: event.tags.contains { $0.first == "device" || $0.first == "dm_key" }
        )
    }
}

/// A list of relays (NIP-65, kind 10002). URLs are as the author wrote them.
package struct RelayList: Hashable, Sendable {
    /// Where the author reads: what is addressed to him is to be published there.
    package var read: [String]
    /// Where the author publishes.
    package var write: [String]

    package init(read: [String] = [], write: [String] = []) {
        self.read = read
        self.write = write
    }

    /// Reads the `r` tags, in their order; a relay without a marker is for both, and one with another marker for
    /// neither.
    package init(_ event: Event) {
        self.init()
        for tag in event.tags where tag.count > 1 && tag[0] == "r" {
            let marker = tag.count > 2 ? tag[2] : ""
            if marker.isEmpty || marker == "read" { read.append(tag[1]) }
            if marker.isEmpty || marker == "write" { write.append(tag[1]) }
        }
    }
}
