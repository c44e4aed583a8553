import Nostr
import Notifications
import Platforms
import Synchronization

/// Opens what is sealed about each device: its address, the key that notifications are sealed to, its registration.
final class DeviceSecrets: Sendable {
    private let store: RegistryStore
    private let vault: TokenVault
    private let platforms: CurrentPlatforms
    private let zones: TimeZones
    private let isBlocked: @Sendable (_ author: PublicKey, _ account: PublicKey) -> Bool
    // Reading one from the disk and opening it takes longer than sending to it.
    private let addresses = Mutex(ReadCache<DeviceID, OpenedAddress>(capacity: 20_000))
    private let sealingKeys = Mutex(ReadCache<DeviceID, SealingKey>(capacity: 20_000))

    /// `isBlocked` says whose devices have no address for anybody.
    init(
        store: RegistryStore,
        vault: TokenVault,
        platforms: CurrentPlatforms,
        zones: TimeZones,
        isBlocked: @escaping @Sendable (_ author: PublicKey, _ account: PublicKey) -> Bool
    ) {
        self.isBlocked = isBlocked
        self.store = store
        self.vault = vault
        self.platforms = platforms
        self.zones = zones
    }

    func address(of device: DeviceID) throws -> DeviceAddress? {
        try address(of: device) { try $0.sealedAddress(of: device) }
    }

    func ingressAddress(of device: DeviceID) throws -> DeviceAddress? {
        try address(of: device) { try $0.sealedIngressAddress(of: device) }
    }

    /// The address that `sealed` reads, or the one it read before.
    private func address(
        of device: DeviceID,
        _ sealed: (RegistryRows) throws -> SealedAddress?
    ) throws -> DeviceAddress? {
        let (known, generation) = addresses.withLock { ($0.value(of: device), $0.generation) }
        if let known { return known.address }
        guard let sealed = try store.readOnce(sealed) else { return nil }
        if let owners = sealed.owners, isBlocked(owners.author, owners.account) { return nil }
        guard var address = AddressCodec.decode(try vault.open(sealed.bytes, of: device, for: .address)) else {
            throw RegistryStoreError.unreadableSeal(device)
        }
        address.isProven = sealed.isProven
        let opened = OpenedAddress(address: address, language: Self.language(sealed.locale))
        addresses.withLock { $0.remember(opened, of: device, readIn: generation) }
        return address
    }

    /// The language that the device's app registered, such as `de`; empty where it is not known. For statistics.
    func language(of device: DeviceID) throws -> String {
        if let known = addresses.withLock({ $0.value(of: device) }) { return known.language }
        return Self.language(try store.readOnce { try $0.locale(of: device) })
    }

    /// The language alone: with the region it might be one person's.
    private static func language(_ locale: String?) -> String {
        let word = (locale ?? "").prefix { $0.isASCII && $0.isLetter }.lowercased()
        return (2...3).contains(word.count) ? word : ""
    }

    func sealingKey(of device: DeviceID) throws -> SealingKey? {
        let (known, generation) = sealingKeys.withLock { ($0.value(of: device), $0.generation) }
        if let known { return known }
        guard let fields = try address(of: device)?.fields,
            let author = try store.readOnce({ try $0.author(of: device) })
        else { return nil }
        let key = SealingKey(fields, author: author)
        sealingKeys.withLock { $0.remember(key, of: device, readIn: generation) }
        return key
    }

    func content(of device: DeviceID) throws -> RegistrationContent? {
        guard let sealed = try store.readOnce({ try $0.sealedContent(of: device) }) else { return nil }
        let json = String(decoding: try vault.open(sealed, of: device, for: .content), as: UTF8.self)
        do {
            return try RegistrationContent(json: json, zones, platforms: platforms.catalog)
        } catch {
            throw RegistryStoreError.unreadableSeal(device)
        }
    }

    func preferences(of device: DeviceID) throws -> DevicePreferences? {
        guard let sealed = try store.readOnce({ try $0.sealedPreferences(of: device) }) else { return nil }
        return sealed.isEmpty ? DevicePreferences() : try open(preferences: sealed, of: device)
    }

    func open(preferences sealed: [UInt8], of device: DeviceID) throws -> DevicePreferences {
        try vault.openPreferences(sealed, of: device, zones)
    }

    /// To be called once the secrets of these devices changed on disk.
    func forget(_ devices: [DeviceID]) {
        addresses.withLock { $0.forget(devices) }
        sealingKeys.withLock { $0.forget(devices) }
    }
}

/// What is kept of an address that was opened.
private struct OpenedAddress: Sendable {
    let address: DeviceAddress
    let language: String
}
