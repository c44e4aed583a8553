/// What the lab's APNs knows in both environments.
struct APNsState: Sendable {
    var devices: APNsDevices
    var keys: [ProviderKey]
    var channels: APNsChannels

    /// Throws `LabError` where a key is none.
    init(_ configuration: LabConfiguration.APNs) throws {
        devices = APNsDevices(configuration.devices, acceptsUndeclared: configuration.acceptsUndeclaredDevices)
        keys = try configuration.credentials.map { try $0.providerKey(topics: configuration.topics) }
        channels = APNsChannels(isEnabled: configuration.allowsBroadcasts)
    }
}
