import Cipher
import Nostr
import Push
import Synchronization

/// Opens the sealed data of each device: its address, the key for sealed notifications, and its registration.
final class DeviceSecrets: Sendable {
    private let store: RegistryStore
    private let vault: TokenVault
    private let keys: RouterKeys
    private let platforms: CurrentPlatforms
    private let isBlocked: @Sendable (_ author: PublicKey, _ account: PublicKey) -> Bool
    // Reading one from the disk and opening it takes longer than sending to it.
    private let addresses = Mutex(ReadCache<DeviceID, OpenedAddress>(capacity: 20_000))
    private let recipients = Mutex(ReadCache<DeviceID, Recipient>(capacity: 20_000))

    private struct Recipient {
        let key: SealingKey
        /// The number of the router's key that the device is registered to.
        let routerKey: Int
    }

    /// `isBlocked` returns whether an account or author is blocked, in which case its devices have no address.
    init(
        store: RegistryStore,
        vault: TokenVault,
        keys: RouterKeys,
        platforms: CurrentPlatforms,
        isBlocked: @escaping @Sendable (_ author: PublicKey, _ account: PublicKey) -> Bool
    ) {
        self.isBlocked = isBlocked
        self.store = store
        self.vault = vault
        self.keys = keys
        self.platforms = platforms
    }

    func address(of device: DeviceID) throws -> DeviceAddress? {
        try address(of: device) { try $0.sealedAddress(of: device) }
    }

    func ingressAddress(of device: DeviceID) throws -> DeviceAddress? {
        try address(of: device) { try $0.sealedIngressAddress(of: device) }
    }

    /// Returns the cached address, or opens the one that `sealed` reads.
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
        (address.isProven, address.mode) = (sealed.isProven, sealed.mode)
        let opened = OpenedAddress(address: address, language: Self.language(sealed.locale))
        addresses.withLock { $0.remember(opened, of: device, readIn: generation) }
        return address
    }

    /// The language that the device's app registered, such as `de`; empty if it is not known. For statistics.
    func language(of device: DeviceID) throws -> String {
        if let known = addresses.withLock({ $0.value(of: device) }) { return known.language }
        return Self.language(try store.readOnce { try $0.locale(of: device) })
    }

    /// The language and region that the device's app registered; nil if they are not known.
    func locale(of device: DeviceID) throws -> LanguageTag? {
        try store.readOnce { try $0.locale(of: device) }.flatMap { LanguageTag($0) }
    }

    /// Only the language, because with the region it might identify one person.
    static func language(_ locale: String?) -> String {
        let word = (locale ?? "").prefix { $0.isASCII && $0.isLetter }.lowercased()
        return (2...3).contains(word.count) ? word : ""
    }

    func sealingKey(of device: DeviceID) throws -> SealingKey? { try recipient(device)?.key }

    func sealing(of device: DeviceID) throws -> DeviceSealing? {
        guard let recipient = try recipient(device),
            let name = keys.names.all.first(where: { $0.number == recipient.routerKey }),
            let sender = keys.pair(of: name.key)
        else { return nil }
        return DeviceSealing(key: recipient.key, sender: sender.secret, senderNumber: name.number)
    }

    private func recipient(_ device: DeviceID) throws -> Recipient? {
        let (known, generation) = recipients.withLock { ($0.value(of: device), $0.generation) }
        if let known { return known }
        guard let fields = try address(of: device)?.fields,
            let (author, routerKey) = try store.readOnce({ try $0.parties(to: device) })
        else { return nil }
        let recipient = Recipient(key: SealingKey(fields, author: author), routerKey: routerKey)
        recipients.withLock { $0.remember(recipient, of: device, readIn: generation) }
        return recipient
    }

    func content(of device: DeviceID) throws -> RegistrationContent? {
        guard let sealed = try store.readOnce({ try $0.sealedContent(of: device) }) else { return nil }
        let json = String(decoding: try vault.open(sealed, of: device, for: .content), as: UTF8.self)
        do {
            return try RegistrationContent(json: json, platforms: platforms.catalog)
        } catch {
            throw RegistryStoreError.unreadableSeal(device)
        }
    }

    func preferences(of device: DeviceID) throws -> DevicePreferences? {
        guard let sealed = try store.readOnce({ try $0.sealedPreferences(of: device) }) else { return nil }
        return sealed.isEmpty ? DevicePreferences() : try open(preferences: sealed, of: device)
    }

    func open(preferences sealed: [UInt8], of device: DeviceID) throws -> DevicePreferences {
        try vault.openPreferences(sealed, of: device)
    }

    /// Drops the cached secrets of these devices. Call it after the change is on disk.
    func forget(_ devices: [DeviceID]) {
        addresses.withLock { $0.forget(devices) }
        recipients.withLock { $0.forget(devices) }
    }

    func forgetAll() {
        addresses.withLock { $0.forgetAll() }
        recipients.withLock { $0.forgetAll() }
    }
}

/// The cached form of an opened address. A class, because each push looks it up several times, and copying its strings
/// would count references each time.
private final class OpenedAddress: Sendable {
    let address: DeviceAddress
    let language: String

    init(address: DeviceAddress, language: String) {
        self.address = address
        self.language = language
    }
}

/// The keys for sealing a notification to a device.
package struct DeviceSealing: Sendable, Concealed {
    package let key: SealingKey
    /// The router's key that the device is registered to: the only one that its app knows for sure.
    package let sender: SecretKey
    /// The number of the sender's key among the router's keys.
    package let senderNumber: Int
}
