import Cipher
import Nostr
import Notifications
import RateLimits
import Synchronization

/// Who is registered here, with which devices.
///
/// Safe to call from any thread. What a call returns is on disk. The ``MatchIndex`` that ``load(signals:)`` makes
/// belongs to its caller, who brings it up to date with ``update(_:)``.
package final class Registry: Sendable {
    package let store: RegistryStore
    let vault: TokenVault
    let desk: RegistrationDesk
    let identity: KeyPair
    let now: @Sendable () -> Int64
    let changed: @Sendable (Set<PublicKey>) -> Void
    let check: PlatformCheck
    let checkSignal: SignalCheck
    let zones: TimeZones
    let pushCode: @Sendable (TargetCodeRequest) -> Void
    let mailbox = IndexMailbox()
    let addresses = Mutex(DeviceCache<DeviceAddress>(capacity: 20_000))
    /// Some 32 MB.
    let followedCache = Mutex(FollowedCache(room: 4_000_000))
    let signers: Mutex<RateTable<PublicKey>>
    /// When to look for devices that lists have said nothing of for too long, in milliseconds since 1970.
    let graceEnd = Mutex(Int64.min)
    /// Some 64 MB.
    let recipientLists = Mutex(RecipientListCache(room: 64 << 20))
    let sealingKeys = Mutex(DeviceCache<SealingKey>(capacity: 20_000))

    /// Opens the door of `store`.
    ///
    /// `identity` is the router's own: registrations are addressed and encrypted to it, and secrets at rest are sealed
    /// under keys drawn from it. `now` is in milliseconds since 1970. `changed` is told, once it is on disk, of which
    /// accounts and roots something changed that ``watchedAccount(_:)``, ``partners(of:)`` or ``rootsOfInterest()``
    /// speak of; it is called on the thread of the change and is to be quick. `zones` are those that quiet hours may
    /// name. `check` and `checkSignal` judge new registrations; `pushCode` is told, as `changed` is, of codes to push
    /// to targets that somebody else has. Throws a ``RegistryStoreError`` when the store was made with another
    /// identity.
    package init(
        store: RegistryStore,
        identity: KeyPair,
        limits: RegistrationDesk.Limits = RegistrationDesk.Limits(),
        now: @escaping @Sendable () -> Int64,
        random: @escaping RandomBytes = SecureRandom.bytes,
        zones: TimeZones = .system,
        changed: @escaping @Sendable (Set<PublicKey>) -> Void = { _ in },
        check: @escaping PlatformCheck,
        checkSignal: @escaping SignalCheck = { _ in nil },
        pushCode: @escaping @Sendable (TargetCodeRequest) -> Void = { _ in }
    ) throws {
        self.store = store
        self.identity = identity
        self.now = now
        self.changed = changed
        self.check = check
        self.checkSignal = checkSignal
        self.zones = zones
        self.pushCode = pushCode
        vault = try TokenVault(identity: identity.secret, random: random)
        desk = RegistrationDesk(ourKey: identity.publicKey, limits: limits)
        signers = Mutex(
            RateTable(
                burst: limits.registrationBurst,
                perSecond: Double(limits.registrationsPerKeyPerHour) / 3600,
                capacity: 100_000
            )
        )
        let owner =
            store.isForReading
            ? try store.readOnce { try $0.owner() } : try store.write { try $0.claim(for: identity.publicKey.hex) }
        guard owner == identity.publicKey.hex else { throw RegistryStoreError.anotherIdentity(path: store.path) }
        guard !store.isForReading else { return }
        try bringContentsOut()
        try bringTargetsOut()
    }

    /// Where `device` is now; nil when it is registered no more. Throws a ``RegistryStoreError``.
    package func address(of device: DeviceID) throws -> DeviceAddress? {
        try address(of: device) { try $0.sealedAddress(of: device) }
    }

    /// The address that `sealed` reads, or the one it read before.
    func address(of device: DeviceID, _ sealed: (RegistryRows) throws -> SealedAddress?) throws -> DeviceAddress? {
        let (known, generation) = addresses.withLock { ($0.value(of: device), $0.generation) }
        if let known { return known }
        guard let sealed = try store.readOnce(sealed) else { return nil }
        guard var address = AddressCodec.decode(try vault.open(sealed.bytes, of: device, for: .address)) else {
            throw RegistryStoreError.unreadableSeal(device)
        }
        address.isProven = sealed.isProven
        addresses.withLock { $0.remember(address, of: device, readIn: generation) }
        return address
    }

    /// What a notification to `device` is sealed to: the registration's `sealing_key`, else the keys of its subscription, else the key
    /// that signed it. Nil when it is registered no more. Throws a ``RegistryStoreError``.
    package func sealingKey(of device: DeviceID) throws -> SealingKey? {
        let (known, generation) = sealingKeys.withLock { ($0.value(of: device), $0.generation) }
        if let known { return known }
        guard let fields = try address(of: device)?.fields,
            let author = try store.readOnce({ try $0.author(of: device) })
        else { return nil }
        let key = SealingKey(fields, author: author)
        sealingKeys.withLock { $0.remember(key, of: device, readIn: generation) }
        return key
    }

    /// All that `device` asked for when it registered; nil when it is registered no more. Throws a
    /// ``RegistryStoreError``.
    package func content(of device: DeviceID) throws -> RegistrationContent? {
        guard let sealed = try store.readOnce({ try $0.sealedContent(of: device) }) else { return nil }
        let json = String(decoding: try vault.open(sealed, of: device, for: .content), as: UTF8.self)
        do {
            return try RegistrationContent(json: json, zones)
        } catch {
            throw RegistryStoreError.unreadableSeal(device)
        }
    }

    /// Forgets a device that its push service called gone, unless it was registered anew after `registeredAt`, which is
    /// the one of the address that was tried. The event that registered it does not bring it back; a later one does.
    package func removeGone(_ device: DeviceID, registeredAt: Int64) throws {
        try change { rows, changes in
            guard let tried = try rows.device(device), tried.registeredAt <= registeredAt else { return }
            try rows.evict(tried, &changes)
        }
    }
}
